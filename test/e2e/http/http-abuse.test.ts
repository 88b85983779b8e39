/** What bad clients do: none of it may cost more than their own connection. */
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, it } from 'vitest';
import type { RequestContext } from '../../../src/server/request/request-context.ts';
import { httpServerUnderTest, restOf, TOKEN, untilSeen } from './http-server-under-test.ts';

const HEAD = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
/** A header of HTTP/2, not packed. */
function header(name: string, value: string): Buffer {
  const text = (of: string) => Buffer.concat([Buffer.from([of.length]), Buffer.from(of)]);
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}
const odd = (i: number) => i * 2 + 1;
const CANCEL = Buffer.from([0, 0, 0, 8]);
const GET_VERSION = Buffer.concat([
  header(':method', 'GET'),
  header(':path', '/version'),
  header(':scheme', 'https'),
  header(':authority', 'x'),
]);

const ok = (context: RequestContext) =>
  context.send(200, 'application/json', Buffer.from(JSON.stringify(context.requestInfo)));

it.each([
  ['no path', 'GET api HTTP/1.1', /^HTTP\/1\.1 400 Bad Request[\s\S]*400 Bad Request$/],
  [
    'percent signs that stand for nothing',
    'GET /a%zz HTTP/1.1',
    /^HTTP\/1\.1 400 [\s\S]*text\/plain[\s\S]*400 Bad Request$/,
  ],
  ['no HTTP', 'HELLO', /^HTTP\/1\.1 400 Bad Request/],
  ['a path with a NUL', 'GET /api/v1/pods/a%00b HTTP/1.1', /"kind":"other"/],
  ['dots', 'GET /api/v1/namespaces/../pods HTTP/1.1', /"kind":"other"/],
  ['empty segments', 'GET /api/v1/namespaces//pods HTTP/1.1', /"kind":"other"/],
  ['an encoded slash', 'GET /api/v1/pods/a%2fb HTTP/1.1', /"subresource":"b"/],
  ['an absolute URL', 'GET https://localhost/api/v1/pods HTTP/1.1', /"resource":"pods"/],
])('answers a request line with %s', async (_what, line, answer) => {
  await using server = await httpServerUnderTest(ok);
  const socket = await server.raw();
  socket.write(`${line}\r\n${HEAD}Connection: close\r\n\r\n`);
  expect(await restOf(socket)).toMatch(answer);
  expect((await server.get('/version')).status).toBe(200);
});

it('takes heads of almost a megabyte and refuses larger ones with 431', async () => {
  await using server = await httpServerUnderTest(ok);
  const most = await server.get('/version', { headers: { 'x-large': 'a'.repeat(900_000) } });
  expect(most.status).toBe(200);
  const socket = await server.raw();
  socket.write(`GET / HTTP/1.1\r\n${HEAD}X-Large: ${'a'.repeat(1_200_000)}\r\n\r\n`);
  expect(await restOf(socket)).toMatch(/^HTTP\/1\.1 431 /);
  const large = server.get2('/version', { headers: { 'x-large': 'a'.repeat(1_200_000) } });
  await expect(large).rejects.toThrow(); // HTTP/2 has no answer for it but the end of the connection
  expect((await server.get('/version')).status).toBe(200);
});

it('does not wait for ever for a head or a body that comes drop by drop', async () => {
  const limits = { headersTimeoutMs: 50, receiveTimeoutMs: 100, requestTimeoutMs: 50 };
  await using server = await httpServerUnderTest(
    async (context) => {
      await context.readBody();
      ok(context);
    },
    { limits },
  );
  const head = await server.raw();
  head.write('GET / HTTP/1.1\r\nHost: x\r\n');
  expect(await restOf(head)).toMatch(/^HTTP\/1\.1 408 /);
  const body = await server.raw();
  body.write(`POST / HTTP/1.1\r\n${HEAD}Content-Length: 100\r\n\r\nabc`);
  expect(await restOf(body)).toMatch(/^HTTP\/1\.1 504 /);
  const stream = server.session().request({ ':path': '/', ':method': 'POST', authorization: `Bearer ${TOKEN}` });
  stream.on('error', () => {});
  const [response] = await once(stream, 'response');
  expect(response[':status']).toBe(504);
});

it('closes a connection that never gets through its handshake', async () => {
  await using server = await httpServerUnderTest(ok, { limits: { handshakeTimeoutMs: 50 } });
  const socket = connectTcp(server.httpServer.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  await once(socket, 'close');
  const garbage = connectTcp(server.httpServer.port, '127.0.0.1');
  garbage.on('error', () => {});
  garbage.write('GET / HTTP/1.1\r\n\r\n');
  garbage.resume();
  await once(garbage, 'close');
});

it('swallows only so much of a body that is too long', async () => {
  await using server = await httpServerUnderTest(
    async (context) => {
      await context.readBody();
      ok(context);
    },
    { limits: { maxBodyBytes: 1000 } },
  );
  const socket = await server.raw();
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.write(`POST / HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  const answer = untilSeen(socket, /413/);
  const flood = () => {
    while (!socket.destroyed && socket.write(chunk)) {}
  };
  socket.on('drain', flood);
  flood();
  expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
  await gone;
});

it('notices a client that closes its half while a stream runs, or sends a body nobody asked for', async () => {
  let closed = () => {};
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  await using server = await httpServerUnderTest((context) => context.stream('application/json').onClose(closed));
  const socket = await server.raw();
  const bytes = 300_000;
  socket.write(`GET /api/v1/pods?watch=1 HTTP/1.1\r\n${HEAD}Content-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`);
  await untilSeen(socket, /200 OK/);
  socket.end();
  await gone;
});

it('answers pipelined requests in order, and forgets them all when the client leaves', async () => {
  let aborted = 0;
  await using server = await httpServerUnderTest(
    (context) => {
      if (context.path !== '/held') return context.send(200, 'text/plain', Buffer.from(`<${context.path}>`));
      return new Promise((_, reject) =>
        context.signal.addEventListener('abort', () => {
          aborted++;
          reject(context.signal.reason);
        }),
      );
    },
    { limits: { maxReadOnly: 0 } },
  );
  const socket = await server.raw();
  const count = 30;
  const seen = untilSeen(socket, new RegExp(`</n${count - 1}>`));
  for (let i = 0; i < count; i++) socket.write(`GET /n${i} HTTP/1.1\r\n${HEAD}\r\n`);
  const text = await seen;
  expect([...text.matchAll(/<\/n(\d+)>/g)].map((match) => Number(match[1]))).toEqual([...Array(count).keys()]);
  for (let i = 0; i < 100; i++) socket.write(`GET /held HTTP/1.1\r\n${HEAD}\r\n`);
  while (server.httpServer.openRequests < 100) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  while (server.httpServer.openRequests > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(aborted).toBe(100);
  expect(server.logged).toEqual([]);
});

it('answers thousands of requests that were sent ahead of their answers', async () => {
  await using server = await httpServerUnderTest(ok);
  const socket = await server.raw();
  const count = 3000;
  let answers = 0;
  const all = new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error(`closed after ${answers} answers`)));
    let rest = '';
    socket.on('data', (part: Buffer) => {
      const lines = (rest + part.toString('latin1')).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) if (line.endsWith('HTTP/1.1 200 OK')) answers++;
      if (answers === count) resolve();
    });
  });
  for (let i = 0; i < count; i++) socket.write(`GET /api/v1/pods/${i} HTTP/1.1\r\n${HEAD}\r\n`);
  await all;
  socket.destroy();
  while (server.httpServer.openRequests > 0) await new Promise((resolve) => setImmediate(resolve));
  expect((await server.get('/version')).status).toBe(200);
});

it.each<[what: string, frame: (i: number) => Buffer]>([
  ['continuations of one head', (i) => (i === 0 ? frame(1, 1, 1, GET_VERSION) : frame(9, 0, 1, header(`x-${i}`, 'a')))],
  ['empty continuations', (i) => (i === 0 ? frame(1, 1, 1, GET_VERSION) : frame(9, 0, 1))],
  [
    'streams that are reset at once',
    (i) => Buffer.concat([frame(1, 5, odd(i), GET_VERSION), frame(3, 0, odd(i), CANCEL)]),
  ],
  ['more streams than are allowed', (i) => frame(1, 5, odd(i), GET_VERSION)],
  ['settings', () => frame(4, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0]))],
  ['pings', () => frame(6, 0, 0, Buffer.alloc(8))],
])('is not harmed by a flood of HTTP/2: %s', async (_what, make) => {
  let handled = 0;
  await using server = await httpServerUnderTest(
    (context) => {
      handled++;
      ok(context);
    },
    { limits: { graceMs: 20 } },
  );
  const ca = server.pki.authorityPem;
  const socket = connectTls({ host: '127.0.0.1', port: server.httpServer.port, ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const gone = new Promise((resolve) => socket.once('close', resolve));
  socket.resume();
  socket.write(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`);
  socket.write(frame(4, 0, 0));
  for (let i = 0; i < 20_000 && socket.writable; ) {
    const batch: Buffer[] = [];
    for (let n = 0; n < 500; n++) batch.push(make(i++));
    const sent = new Promise((resolve) => socket.write(Buffer.concat(batch), resolve));
    await Promise.race([sent, gone]);
  }
  expect((await server.get2('/version')).status).toBe(200);
  expect(handled).toBeLessThan(2500); // nghttp2 allows a thousand resets in a row
  socket.destroy();
  while (server.httpServer.openRequests > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(server.logged).toEqual([]);
});

it('survives streams that are opened and thrown away', async () => {
  let opened = 0;
  let closed = 0;
  await using server = await httpServerUnderTest(async (context) => {
    if (context.requestInfo.kind === 'other') return ok(context);
    await context.readBody().catch(() => {});
    const stream = context.stream('application/json');
    opened++;
    stream.onClose(() => closed++);
    stream.write(Buffer.alloc(100_000));
  });
  const session = server.session();
  for (let i = 0; i < 300; i++) {
    const stream = session.request({ ':path': '/api/v1/pods?watch=1', authorization: `Bearer ${TOKEN}` });
    stream.on('error', () => {});
    if (i % 2) stream.close();
    else stream.once('response', () => stream.destroy());
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await server.get('/version')).status).toBe(200);
  while (server.httpServer.openRequests > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toBe(opened);
  expect(server.logged).toEqual([]);
});

it('cuts a list off when its reader stops reading, and asks for no more pieces', async () => {
  let asked = 0;
  function* pieces() {
    for (; asked < 100_000; asked++) yield Buffer.alloc(1500);
  }
  let finished = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  await using server = await httpServerUnderTest(
    async (context) => {
      await context.sendParts(200, 'application/json', pieces(), 150_000_000);
      finished();
    },
    { limits: { requestTimeoutMs: 100 } },
  );
  const socket = await server.raw();
  socket.write(`GET / HTTP/1.1\r\n${HEAD}\r\n`);
  await done;
  expect(asked).toBeLessThan(50_000);
  expect(server.logged).toEqual([]);
});
