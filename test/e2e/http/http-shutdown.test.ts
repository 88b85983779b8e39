/** How the HTTP server goes: what is still served, what is told to come again, how watches end. Time is turned by hand. */
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { ByteStream, RequestContext } from '../../../src/server/request/request-context.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import { httpServerUnderTest, TOKEN } from './http-server-under-test.ts';

const POD = '/api/v1/namespaces/default/pods/p';
const WATCH = '/api/v1/pods?watch=1';
const AUTHORIZATION = `Bearer ${TOKEN}`;

/** Answers at once, but what is `slow` when the test says so; watches stay open. */
function handlers() {
  const slow: (() => void)[] = [];
  const streams: ByteStream[] = [];
  const handle = async (context: RequestContext): Promise<void> => {
    if (context.query.get('watch')) {
      streams.push(context.stream('application/json'));
      context.initialised();
      return;
    }
    if (context.path.endsWith('/slow')) await new Promise<void>((resolve) => slow.push(resolve));
    context.send(200, 'text/plain', Buffer.from('served'));
  };
  return { handle, slow, streams, finish: () => slow.splice(0).forEach((resolve) => void resolve()) };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

it('by default the port is closed, and whoever is connected hears that the server is going', async () => {
  const { handle, slow, finish } = handlers();
  await using server = await httpServerUnderTest(handle);
  const running = server.get('/api/v1/namespaces/default/pods/slow');
  const socket = await server.raw();
  await until(() => slow.length === 1);
  const closed = server.httpServer.close();
  socket.write(`GET ${POD} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 503 /);
  expect(answer.toString()).toContain('Retry-After: 1\r\n');
  expect(answer.toString()).toContain('apiserver is shutting down');
  finish();
  expect((await running).status).toBe(200);
  await closed;
  await expect(server.get(POD)).rejects.toThrow();
});

it('told to send Retry-After it goes on listening until the last request is answered, and turns all new ones away', async () => {
  const { handle, slow, finish } = handlers();
  await using server = await httpServerUnderTest(handle, { shutdown: { sendsRetryAfter: true } });
  const running = server.get('/api/v1/namespaces/default/pods/slow');
  await until(() => slow.length === 1);
  const closed = server.httpServer.close();
  for (const path of [POD, WATCH, '/version']) {
    const { status, headers, body } = await server.get(path, { anonymous: true });
    expect([status, headers['retry-after'], headers.connection, headers['content-type'], body.toString()]).toEqual([
      429,
      '5',
      'close',
      'text/plain; charset=utf-8',
      'The apiserver is shutting down, please try again later.\n',
    ]);
    expect(headers).not.toHaveProperty('x-kubernetes-pf-flowschema-uid');
  }
  expect((await server.get2(POD)).status).toBe(429);
  for (const path of ['/readyz', '/livez/ping', '/healthz', '/metrics'])
    expect((await server.get(path)).status).toBe(200);
  expect((await server.get(POD, { headers: { 'user-agent': 'kube-apiserver/v1.36.4' } })).status).toBe(200);
  finish();
  expect((await running).status).toBe(200);
  await closed;
  await expect(server.get(POD)).rejects.toThrow();
});

it('watches end over the time they are given, at least two hundred a second, and each of them cleanly', async () => {
  const clock = new FakeClock();
  const { handle, streams } = handlers();
  await using server = await httpServerUnderTest(handle, { shutdown: { watchGraceMs: 10_000 }, clock });
  const session = server.session();
  const sessions = [session, server.session(), server.session()];
  const ends: Promise<unknown>[] = [];
  for (let i = 0; i < 210; i++) {
    const stream = sessions[i % 3]!.request({ ':path': WATCH, authorization: AUTHORIZATION }).resume();
    ends.push(new Promise((resolve, reject) => stream.once('end', () => resolve(i)).once('error', reject)));
  }
  await until(() => streams.length === 210);
  let open = 210;
  for (const end of ends) void end.then(() => open--);
  const closed = server.httpServer.close();
  await clock.advance(400);
  await until(() => open === 110); // twenty at once, and twenty more after each tenth of a second
  await clock.advance(10_000);
  await Promise.all(ends);
  for (const one of sessions) one.close();
  await closed;
});

it('with a chance of GOAWAY a connection of HTTP/2 ends after the answer, and what runs on it is finished', async () => {
  const { handle, slow, finish } = handlers();
  const chances = [0.5, 0.5, 0.01];
  await using server = await httpServerUnderTest(handle, { goawayChance: 0.02, random: () => chances.shift() ?? 1 });
  const session = server.session();
  const ask = async (path: string) => {
    const stream = session.request({ ':path': path, authorization: AUTHORIZATION }).resume();
    const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
    if (!stream.readableEnded) await once(stream, 'end');
    return headers[':status'];
  };
  expect(await ask(POD)).toBe(200);
  const running = ask('/api/v1/namespaces/default/pods/slow');
  await until(() => slow.length === 1);
  const away = once(session, 'goaway');
  expect(await ask(POD)).toBe(200);
  await away;
  finish();
  expect(await running).toBe(200);
  expect((await server.get(POD)).status).toBe(200); // HTTP/1.1 knows no such thing
});
