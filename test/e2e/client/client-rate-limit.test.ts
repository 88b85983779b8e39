/** The client's own rate limit, as requests on the wire see it. */
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { type RequestSample, watch } from '../../../src/client/advanced.ts';
import { KubeClient, type Logger } from '../../../src/client/index.ts';
import { leases } from '../../../src/client/objects/generated/coordination-v1.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { Manager } from '../../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../../src/testing/index.ts';
import { answer, type Exchange, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { accessOf, until } from '../../support/client/client-under-test.ts';

it('requests beyond the burst wait for their turn, and a long wait is told at level 2', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger: Logger = { level: 2, log: (level, message) => void lines.push(`${level} ${message}`) };
  const transport = server.transport({ clock, logger, rateLimit: { perSecond: 1, burst: 2 } });
  const asked = ['/a', '/b', '/c', '/d'].map((path) => transport.request('GET', path));
  const paths: (string | undefined)[] = [];
  const serve = async () => {
    const exchange = await server.next();
    paths.push(exchange.request.url);
    answer(exchange, 200, {});
  };
  await serve();
  await serve();
  await Promise.all(asked.slice(0, 2));
  const third = serve();
  await clock.advance(999);
  expect(paths).toEqual(['/a', '/b']);
  await clock.advance(1);
  await third;
  const fourth = serve();
  await clock.advance(1000);
  await fourth;
  await Promise.all(asked);
  expect(paths).toEqual(['/a', '/b', '/c', '/d']);
  expect(lines).toEqual(["2 GET /d waits 2000 ms for this client's own rate limit"]);
});

it('a request that is given up while it waits is never sent, and leaves nothing behind', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const transport = server.transport({ clock, rateLimit: { perSecond: 1, burst: 1 } });
  const first = transport.request('GET', '/a');
  answer(await server.next(), 200, {});
  await first;
  const stop = new AbortController();
  const second = transport.request('GET', '/b', { signal: stop.signal });
  await clock.advance(500);
  stop.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  const limited = transport.request('GET', '/c', { timeouts: { totalMs: 100 } });
  const failure = expect(limited).rejects.toMatchObject({ phase: 'total', isTimeout: true });
  await clock.advance(100);
  await failure;
  const last = transport.request('GET', '/d');
  const closing = expect(last).rejects.toThrow('the transport is closed');
  await transport.close();
  await closing;
  expect(server.connections.opened).toBe(1);
});

it('a watch counts once, an urgent request does not wait, and what is tried again takes a turn again', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const codes: (number | undefined)[] = [];
  const onRequest = ({ code }: RequestSample) => void codes.push(code);
  const transport = server.transport({ clock, onRequest, random: () => 0, rateLimit: { perSecond: 1, burst: 1 } });
  const stop = new AbortController();
  const events = watch(transport, configMaps, { signal: stop.signal, allowBookmarks: false });
  const opening = events.next();
  const stream = await server.next();
  stream.response.writeHead(200, { 'content-type': 'application/json' });
  const line = (n: number) =>
    `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: `m${n}`, resourceVersion: `${n}` } } })}\n`;
  for (let n = 1; n <= 20; n++) stream.response.write(line(n));
  await opening;
  for (let n = 2; n <= 20; n++) await events.next(); // the bucket is empty, and nobody minds
  const urgent = transport.request('GET', '/urgent', { isUrgent: true });
  answer(await server.next(), 200, {});
  await urgent;
  // The urgent one is paid for by the next: two seconds instead of one.
  const asked = transport.request('GET', '/a');
  const arrived: Exchange[] = [];
  const take = () => void server.next().then((exchange) => arrived.push(exchange));
  take();
  await clock.advance(1999);
  expect(arrived).toEqual([]);
  await clock.advance(1);
  await until(() => arrived.length === 1);
  answer(arrived[0]!, 429, {}, { 'retry-after': '0' });
  take();
  await until(() => codes.at(-1) === 429);
  await clock.advance(999);
  expect(arrived).toHaveLength(1);
  await clock.advance(1);
  await until(() => arrived.length === 2);
  answer(arrived[1]!, 200, { done: true });
  expect((await asked).body).toEqual({ done: true });
  stop.abort();
  await events.return();
});

it('a lease is won and renewed by a client whose other requests wait for minutes', async () => {
  await using server = await startTestServer();
  await using client = new KubeClient(await accessOf(server), { rateLimit: { perSecond: 0.001, burst: 1 } });
  await client.resource(configMaps).list();
  const stop = new AbortController();
  const waiting = Array.from({ length: 5 }, () => client.resource(configMaps).list({ signal: stop.signal }));
  const ended = Promise.allSettled(waiting);
  const timings = { leaseDurationMs: 60_000, renewDeadlineMs: 50_000, retryMs: 10, jitterFactor: 0 };
  await using manager = new Manager({
    client,
    election: { name: 'boss', identity: 'me', ...timings },
    onError: () => {},
  });
  manager.start();
  await until(() => manager.elector?.isLeading() === true);
  const renewed = async () => {
    const lease = await client.resource(leases).get('boss', { isUrgent: true });
    return lease.metadata.resourceVersion;
  };
  const first = await renewed();
  await until(async () => (await renewed()) !== first);
  stop.abort(new Error('over'));
  expect((await ended).every((one) => one.status === 'rejected' && one.reason.message === 'over')).toBe(true);
});
