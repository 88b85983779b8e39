/** watchResuming() against a server that breaks its streams as the test tells it. */
import { expect, it } from 'vitest';
import { type Interruption, watchResuming } from '../../../src/client/advanced.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import {
  answer,
  type Exchange,
  type ScriptedServer,
  scriptedServer,
} from '../../support/client/client-scripted-server.ts';

const object = (version: number) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'a', resourceVersion: `${version}` },
});
const event = (type: string, version: number) => `${JSON.stringify({ type, object: object(version) })}\n`;
const endMark = `${JSON.stringify({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '50', annotations: { 'k8s.io/initial-events-end': 'true' } } },
})}\n`;
const expired = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Expired', code: 410 };

/** Opens the stream of a watch and sends some of it. */
function begin({ response }: Exchange, ...lines: string[]): Exchange['response'] {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (const line of lines) response.write(line);
  return response;
}

const versionOf = ({ request }: Exchange) => new URL(request.url!, 'http://x').searchParams.get('resourceVersion');

function start(server: ScriptedServer, options: object = { resourceVersion: '10' }) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const interruptions: Interruption[] = [];
  const onInterruption = (interruption: Interruption) => void interruptions.push(interruption);
  const transport = server.transport({ clock, random: () => 0.999 });
  const all = { resourceVersion: '10', signal: stop.signal, onInterruption, ...options };
  const run = (async () => {
    for await (const { type, object: got } of watchResuming(transport, configMaps, all))
      seen.push(`${type} ${got.metadata.resourceVersion}`);
  })();
  run.catch(() => {}); // looked at by those who expect an end
  /** The next request, however long the pause before it is. */
  const next = async () => {
    let isHere = false;
    const coming = server.next().finally(() => {
      isHere = true;
    });
    while (!isHere) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (!isHere && interruptions.length > 0) await clock.advance(1000);
    }
    return coming;
  };
  return { run, seen, interruptions, next, clock, stop };
}

it('goes on after the last version it has seen, whatever breaks', async () => {
  await using server = await scriptedServer();
  const { seen, interruptions, next, stop, run } = start(server);
  const first = await next();
  expect(versionOf(first)).toBe('10');
  begin(first, event('ADDED', 11), event('MODIFIED', 12).slice(0, 30));
  await until(() => seen.length === 1);
  first.request.socket.destroy(); // in the middle of an event

  const second = await next();
  expect(versionOf(second)).toBe('11');
  begin(second, event('MODIFIED', 12), event('BOOKMARK', 20)).end(); // clean, but short

  const third = await next();
  expect(versionOf(third)).toBe('20');
  answer(third, 503, 'no', { 'retry-after': '3' });

  const fourth = await next();
  expect(versionOf(fourth)).toBe('20');
  begin(fourth, '{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}\n').end();

  const fifth = await next();
  expect(versionOf(fifth)).toBe('20');
  begin(fifth, 'not json\n');

  const sixth = await next();
  begin(sixth, event('DELETED', 21));
  await until(() => seen.length === 4);
  stop.abort(new Error('over'));
  await expect(run).rejects.toThrow('over');
  expect(seen).toEqual(['ADDED 11', 'MODIFIED 12', 'BOOKMARK 20', 'DELETED 21']);
  expect(interruptions.map(({ resourceVersion, failures }) => [resourceVersion, failures])).toEqual([
    ['11', 1],
    ['20', 2],
    ['20', 3],
    ['20', 4],
    ['20', 5],
  ]);
  expect(interruptions[2]!.delayMs).toBeGreaterThanOrEqual(3000);
});

it('a clean end of a stream that lived is no failure', async () => {
  await using server = await scriptedServer();
  const { interruptions, next, clock, stop } = start(server);
  const response = begin(await next());
  await until(() => clock.sleeping > 0);
  await clock.advance(5000);
  response.end();
  await next();
  expect(interruptions).toMatchObject([{ error: undefined, livedMs: 5000, delayMs: 0, failures: 0 }]);
  stop.abort();
});

it('pauses grow, and fall back after good health', async () => {
  await using server = await scriptedServer();
  const { interruptions, next, clock, stop } = start(server);
  for (let i = 0; i < 3; i++) answer(await next(), 500, 'broken');
  const { request, response } = await next();
  begin({ request, response, body: '' });
  await until(() => clock.sleeping > 0);
  await clock.advance(40_000);
  request.socket.destroy();
  answer(await next(), 500, 'broken');
  await next();
  expect(interruptions.map(({ delayMs }) => Math.ceil(delayMs))).toEqual([800, 1599, 3197, 800, 1599]);
  stop.abort();
});

it('silence is death: the stream is given up after 75 s and taken up again', async () => {
  await using server = await scriptedServer();
  const { interruptions, next, clock, stop } = start(server);
  begin(await next());
  await until(() => clock.sleeping > 1);
  await clock.advance(74_000);
  expect(interruptions).toEqual([]);
  await clock.advance(1_000);
  await next();
  expect(interruptions[0]!.error).toMatchObject({ phase: 'idle', isTimeout: true });
  stop.abort();
});

it.each<[claim: string, refuse: (exchange: Exchange) => unknown]>([
  ['as a status', (exchange) => answer(exchange, 410, expired)],
  ['as an event', (exchange) => begin(exchange, `${JSON.stringify({ type: 'ERROR', object: expired })}\n`).end()],
])('history that is gone ends it with Expired, %s', async (_claim, refuse) => {
  await using server = await scriptedServer();
  const { run, next } = start(server);
  refuse(await next());
  await expect(run).rejects.toMatchObject({ name: 'ApiError', code: 410, reason: 'Expired' });
});

it('empty streams again and again are expired history, too', async () => {
  await using server = await scriptedServer();
  const { run, next } = start(server);
  for (let i = 0; i < 5; i++) begin(await next()).end();
  await expect(run).rejects.toMatchObject({ code: 410, reason: 'Expired' });
});

it('a refusal ends it', async () => {
  await using server = await scriptedServer();
  const { run, next } = start(server);
  answer(await next(), 403, { ...expired, reason: 'Forbidden', code: 403, message: 'no' });
  await expect(run).rejects.toMatchObject({ reason: 'Forbidden', message: 'no' });
});

it('the initial state is never taken up in the middle: its failure is thrown', async () => {
  await using server = await scriptedServer();
  const { run, next, seen } = start(server, { sendInitialEvents: true, resourceVersion: undefined });
  const exchange = await next();
  expect(new URL(exchange.request.url!, 'http://x').searchParams.get('resourceVersionMatch')).toBe('NotOlderThan');
  begin(exchange, event('ADDED', 40), event('ADDED', 11));
  await until(() => seen.length === 2);
  exchange.request.socket.destroy();
  await expect(run).rejects.toMatchObject({ name: 'TransportError', phase: 'body' });
});

it('after the initial state it goes on from its bookmark, without initial events', async () => {
  await using server = await scriptedServer();
  const { next, seen, stop } = start(server, { sendInitialEvents: true, resourceVersion: undefined });
  const exchange = await next();
  begin(exchange, event('ADDED', 40), event('ADDED', 11), endMark);
  await until(() => seen.length === 3);
  exchange.request.socket.destroy();
  const { searchParams } = new URL((await next()).request.url!, 'http://x');
  expect([searchParams.get('resourceVersion'), searchParams.get('sendInitialEvents')]).toEqual(['50', null]);
  stop.abort();
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
