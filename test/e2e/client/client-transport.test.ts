/** The transport against a server that does what the test tells it. */
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { expect, it } from 'vitest';
import { type RequestSample, Transport, watch } from '../../../src/client/advanced.ts';
import type { Credentials } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import { answer, scriptedServer } from '../../support/client/client-scripted-server.ts';

it('requests one after the other take turns on two connections at most, and streams have their own', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  for (let i = 0; i < 20; i++) {
    const asked = transport.request('GET', '/a');
    answer(await server.next(), 200, { i });
    expect((await asked).body).toEqual({ i });
  }
  // A connection rests for one turn of the event loop after each answer.
  const { opened: before } = server.connections;
  expect(before).toBeLessThanOrEqual(2);
  const opened = transport.stream('GET', '/s');
  const { response } = await server.next();
  response.writeHead(200).write('x');
  const stream = await opened;
  expect(server.connections).toEqual({ opened: before + 1, open: before + 1 });
  stream.close();
  await once(response, 'close');
});

it('a request carries query, body, credentials and impersonation under the path of the server', async () => {
  await using server = await scriptedServer();
  await using transport = new Transport(
    {
      server: new URL('/prefix/', server.url),
      namespace: 'default',
      credentials: { current: async () => ({ authorization: 'Bearer t' }), refused: () => false },
      impersonate: { user: 'ann', groups: ['a', 'b'], extra: { 'x/y': ['1'] } },
    },
    { userAgent: 'me' },
  );
  const asked = transport.request('POST', '/a', { query: { q: '1' }, body: { x: 1 }, contentType: 'application/y' });
  const { request, body, response } = await server.next();
  expect([request.method, request.url, body]).toEqual(['POST', '/prefix/a?q=1', '{"x":1}']);
  expect(request.headers).toMatchObject({
    authorization: 'Bearer t',
    'content-type': 'application/y',
    'user-agent': 'me',
    'impersonate-user': 'ann',
    'impersonate-extra-x%2fy': '1',
  });
  expect(request.headersDistinct['impersonate-group']).toEqual(['a', 'b']);
  response.writeHead(204).end();
  expect(await asked).toMatchObject({ code: 204, body: '' });
});

it('Retry-After is waited for, and what is given up says why', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const transport = server.transport({ clock, random: () => 0, maxTries: 2 });
  const asked = transport.request('POST', '/a', { body: {} });
  answer(await server.next(), 429, 'Too many requests', { 'retry-after': '7' });
  await sleeping(clock, 7000);
  answer(await server.next(), 429, 'Too many requests', { 'retry-after': '7' });
  await expect(asked).rejects.toMatchObject({
    name: 'ApiError',
    code: 429,
    reason: 'TooManyRequests',
    retryAfterMs: 7000,
  });
});

it('a connection that breaks before the answer: a read is sent again once, a write is not', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  const read = transport.request('GET', '/a');
  (await server.next()).request.socket.destroy();
  answer(await server.next(), 200, { ok: true });
  expect((await read).body).toEqual({ ok: true });
  const write = transport.request('PUT', '/a', { body: {} });
  (await server.next()).request.socket.destroy();
  await expect(write).rejects.toMatchObject({ name: 'TransportError', phase: 'headers', isTimeout: false });
});

it('phases that fail are told apart', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const samples: RequestSample[] = [];
  const timeouts = { headersMs: 1000, idleMs: 2000 };
  const transport = server.transport({ clock, timeouts, onRequest: (sample) => samples.push(sample) });

  const silent = expect(transport.request('GET', '/headers')).rejects.toMatchObject({
    phase: 'headers',
    isTimeout: true,
  });
  await server.next();
  await sleeping(clock, 1000);
  await silent;

  const stalled = expect(transport.request('GET', '/idle')).rejects.toMatchObject({ phase: 'idle', isTimeout: true });
  const { response } = await server.next();
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"half":');
  await until(() => clock.sleeping === 1); // the limit of the headers is lifted, that of the silence is there
  await turn();
  await sleeping(clock, 2000);
  await stalled;

  const cut = expect(transport.request('GET', '/body')).rejects.toMatchObject({ phase: 'body', isTimeout: false });
  const half = await server.next();
  half.response.writeHead(200, { 'content-length': '100' }).write('{"half":');
  await turn();
  half.request.socket.destroy();
  await cut;

  const slow = transport.request('GET', '/total', { timeouts: { totalMs: 500 } });
  const late = expect(slow).rejects.toMatchObject({ phase: 'total', isTimeout: true });
  await server.next();
  await sleeping(clock, 500);
  await late;

  expect(samples.map(({ path, failed, code }) => [path, failed ?? code])).toEqual([
    ['/headers', 'headers'],
    ['/idle', 'idle'],
    ['/body', 'body'],
    ['/total', 'total'],
  ]);
  expect(clock.sleeping).toBe(0);
});

it('nobody there is a failure to connect', async () => {
  const server = await scriptedServer();
  await server[Symbol.asyncDispose]();
  await using transport = new Transport({ server: server.url, namespace: 'default' });
  await expect(transport.request('GET', '/')).rejects.toMatchObject({ phase: 'connect', code: 'ECONNREFUSED' });
});

it('certificates that are none are a failure to connect, each time', async () => {
  const server = new URL('https://127.0.0.1:1');
  await using transport = new Transport(
    { server, namespace: 'default', authority: '-----BEGIN CERTIFICATE-----\nno' },
    { maxTries: 1 },
  );
  for (let i = 0; i < 2; i++) {
    const asked = transport.request('GET', '/a');
    await expect(asked).rejects.toMatchObject({ name: 'TransportError', phase: 'connect' });
  }
});

it("an abort gives the caller's reason at any time, and leaves nothing on the signal", async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  const stop = new AbortController();
  for (let i = 0; i < 3; i++) {
    const asked = transport.request('GET', '/a', { signal: stop.signal });
    answer(await server.next(), 200, {});
    await asked;
  }
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  const reason = new Error('enough');
  const waiting = transport.request('GET', '/b', { signal: stop.signal });
  const { response: unanswered } = await server.next();
  const opening = transport.stream('GET', '/c', { signal: stop.signal });
  (await server.next()).response.writeHead(200).write('x');
  const stream = await opening;
  const reading = (async () => {
    for await (const _ of stream.chunks);
  })();
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(reading).rejects.toBe(reason);
  await expect(transport.request('GET', '/d', { signal: stop.signal })).rejects.toBe(reason);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  await once(unanswered, 'close');
});

it('a watch that is not read pauses its socket, and then tells everything', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  const watching = watch(transport, configMaps, { resourceVersion: '1' });
  const first = watching.next();
  const { response } = await server.next();
  const data = { text: 'ü'.repeat(16 * 1024) };
  for (let i = 0; i < 1000; i++) {
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `m-${i}`, resourceVersion: `${i}` }, data };
    response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
  }
  response.end();
  await first;
  for (let i = 0; i < 50; i++) {
    const asked = transport.request('GET', '/meanwhile');
    answer(await server.next(), 200, {});
    await asked;
  }
  // Of 32 MB, all that is not in the buffers of the kernel is still with the server.
  expect(response.writableLength).toBeGreaterThan(16_000_000);
  let count = 1;
  for await (const { object } of watching) expect(object.metadata.resourceVersion).toBe(String(count++));
  expect(count).toBe(1000);
});

it('credentials that are refused are renewed once', async () => {
  await using server = await scriptedServer();
  let token = 1;
  const credentials: Credentials = {
    current: async () => ({ authorization: `Bearer ${token}` }),
    refused: () => Boolean(token++),
  };
  await using transport = new Transport({ server: server.url, namespace: 'default', credentials });
  const asked = transport.request('POST', '/a');
  answer(await server.next(), 401, 'Unauthorized');
  const second = await server.next();
  expect(second.request.headers.authorization).toBe('Bearer 2');
  answer(second, 401, 'Unauthorized');
  await expect(asked).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
});

it('a closed transport fails what runs and what comes', async () => {
  await using server = await scriptedServer();
  const transport = server.transport();
  const running = transport.request('GET', '/a');
  await server.next();
  await Promise.all([transport.close(), expect(running).rejects.toThrow('the transport is closed')]);
  await expect(transport.request('GET', '/a')).rejects.toThrow('the transport is closed');
});

it('logs tell requests by level, and never a secret', async () => {
  await using server = await scriptedServer();
  const lines: [string, number][] = [];
  await using transport = new Transport(
    {
      server: server.url,
      namespace: 'default',
      credentials: { current: async () => ({ authorization: 'Bearer hidden' }), refused: () => false },
    },
    { logger: { level: 9, log: (level, line) => void lines.push([line, level]) } },
  );
  const secret = transport.request('PUT', '/api/v1/namespaces/x/secrets/s', { body: { data: 'hidden' } });
  answer(await server.next(), 200, { data: 'hidden' });
  await secret;
  const open = transport.request('GET', '/api/v1/pods');
  answer(await server.next(), 200, { visible: true });
  await open;
  const text = lines.map(([line]) => line).join('\n');
  expect(text).not.toContain('hidden');
  expect(text).toContain('authorization: <redacted>');
  expect(text).toContain('{"visible":true}');
  expect(lines.filter(([, level]) => level === 6).map(([line]) => line.replace(/\d+ ms/, 'N ms'))).toEqual([
    'PUT /api/v1/namespaces/x/secrets/s 200 in N ms',
    'GET /api/v1/pods 200 in N ms',
  ]);
});

it('warnings of the server are passed on', async () => {
  await using server = await scriptedServer();
  const warnings: string[] = [];
  const asked = server.transport({ onWarning: (text) => warnings.push(text) }).request('GET', '/a');
  answer(await server.next(), 200, {}, { warning: '299 - "v1beta1 is deprecated"' });
  await asked;
  expect(warnings).toEqual(['v1beta1 is deprecated']);
});

it('a proxy is asked for a tunnel, with its login; its refusal is a failure to connect', async () => {
  await using server = await scriptedServer();
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`);
    if (asked.length > 1) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const target = connectTcp(Number(server.url.port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    return undefined;
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const access = {
    server: server.url,
    namespace: 'default',
    proxy: new URL(`http://me:pw@127.0.0.1:${(proxy.address() as AddressInfo).port}`),
  };
  const login = Buffer.from('me:pw').toString('base64');
  const through = new Transport(access);
  const first = through.request('GET', '/a');
  answer(await server.next(), 200, { ok: true });
  expect((await first).body).toEqual({ ok: true });
  expect(asked).toEqual([`${server.url.host} Basic ${login}`]);
  await through.close();
  await using refused = new Transport(access);
  await expect(refused.request('GET', '/a')).rejects.toMatchObject({
    phase: 'connect',
    message: expect.stringContaining('the proxy answered 403 Forbidden'),
  });
  proxy.close();
});

/** Turns the clock once the limit is set. */
async function sleeping(clock: FakeClock, ms: number): Promise<void> {
  await until(() => clock.sleeping > 0);
  await clock.advance(ms);
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
