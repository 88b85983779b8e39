/**
 * Clients that make the server wait: bodies that do not come, answers that are not read. They hold no seat, a bounded
 * number of bytes that is counted to their user, and not for long.
 */
import { once } from 'node:events';
import type { ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/server/request/request-context.ts';
import { FakeClock } from '../../../src/testing/clocks/fake-clock.ts';
import {
  type HttpServerUnderTest,
  httpServerUnderTest,
  OTHER_TOKEN,
  restOf,
  TOKEN,
  untilSeen,
} from './http-server-under-test.ts';

const MIB = 1024 * 1024;
const AS_ADMIN = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const AS_OTHER = `Host: localhost\r\nAuthorization: Bearer ${OTHER_TOKEN}\r\n`;
/** More than the buffers of any system take in. */
const LARGE = 60 * MIB;
const NO_WINDOW = { initialWindowSize: 0 };

const text = (context: RequestContext, body: string | Buffer) => context.send(200, 'text/plain', Buffer.from(body));
const readAndSend = async (context: RequestContext) => text(context, `${(await context.readBody()).length}`);

const turn = () => new Promise((resolve) => setImmediate(resolve));
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn();
}

/** A request over HTTP/1.1 of whose body only a part is sent. */
async function begun(server: HttpServerUnderTest, part: string | Buffer, head = AS_ADMIN): Promise<TLSSocket> {
  const socket = await server.raw();
  socket.write(`POST /x HTTP/1.1\r\n${head}Content-Length: 3000000\r\n\r\n`);
  socket.write(part);
  return socket;
}

function begun2(server: HttpServerUnderTest, part: string | Buffer): ClientHttp2Stream {
  const headers = { ':path': '/x', ':method': 'POST', authorization: `Bearer ${TOKEN}` };
  const stream = server.session().request(headers);
  stream.on('error', () => {});
  stream.write(part);
  return stream;
}

describe('seats', () => {
  it('are not taken by bodies that never end', async () => {
    await using server = await httpServerUnderTest(readAndSend, { limits: { maxMutating: 2, graceMs: 20 } });
    for (let i = 0; i < 5; i++) await begun(server, 'abc');
    for (let i = 0; i < 5; i++) begun2(server, 'abc');
    await until(() => server.httpServer.openRequests === 10);
    for (const get of ['get', 'get2'] as const) {
      const answer = await server[get]('/x', { method: 'POST', body: 'whole' });
      expect([answer.status, answer.body.toString()]).toEqual([200, '5']);
    }
  });

  it.each([
    ['small answers', (context: RequestContext) => text(context, 'small')],
    ['large answers', (context: RequestContext) => text(context, Buffer.alloc(3 * MIB))],
    ['lists', (context: RequestContext) => context.sendParts(200, 'text/plain', [Buffer.alloc(2 * MIB)], 2 * MIB)],
  ])('are not held by %s that nobody reads', async (_what, handle) => {
    let taken = 0;
    const observer = {
      begin: () => {},
      end: () => {},
      seat: (_kind: string, change: number) => {
        taken += change;
      },
      streamOpened: () => {},
      handshakeFailed: () => {},
    };
    await using server = await httpServerUnderTest(handle, { limits: { maxReadOnly: 2 }, observer });
    const session = server.session(NO_WINDOW);
    for (let i = 0; i < 5; i++) {
      const stream = session.request({ ':path': '/x', authorization: `Bearer ${TOKEN}` });
      stream.on('error', () => {});
      const [head] = await once(stream, 'response'); // its head needs no window
      expect(head[':status']).toBe(200);
      await until(() => taken === 0);
    }
    expect((await server.get('/x')).status).toBe(200);
  });

  it('are held while a handler works, also when its client has left', async () => {
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const seats: string[] = [];
    const observer = {
      begin: () => {},
      end: () => {},
      seat: (kind: string, change: number) => seats.push(`${kind} ${change}`),
      streamOpened: () => {},
      handshakeFailed: () => {},
    };
    await using server = await httpServerUnderTest(
      async (context) => {
        if (context.path === '/held') await held;
        text(context, 'done');
      },
      { limits: { maxReadOnly: 1 }, observer },
    );
    const stream = server.session().request({ ':path': '/held', authorization: `Bearer ${TOKEN}` });
    await until(() => seats.length === 1);
    stream.close();
    await until(() => server.httpServer.openRequests === 0);
    expect((await server.get('/x')).status).toBe(429);
    finish();
    await until(() => seats.length === 2);
    expect((await server.get('/x')).status).toBe(200);
    expect(seats).toEqual(['readOnly 1', 'readOnly -1', 'readOnly 1', 'readOnly -1']);
  });
});

describe('a body', () => {
  it('is not read from those who may not do what they ask for', async () => {
    let isAsked = false;
    const limits = { graceMs: 20 };
    await using server = await httpServerUnderTest(
      () => {
        isAsked = true;
      },
      { limits },
    );
    const url = '/api/v1/namespaces/x/pods';
    const socket = await server.raw();
    socket.write(`POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc`);
    expect(await untilSeen(socket, /"code":403\}/)).toMatch(/^HTTP\/1\.1 403 /);
    const stream = server.session().request({ ':path': url, ':method': 'POST' });
    const [response] = await once(stream, 'response');
    expect([response[':status'], isAsked]).toEqual([403, false]);
  });

  it('is invited when it is wanted, and only then', async () => {
    await using server = await httpServerUnderTest((context) =>
      context.path === '/no' ? context.send(404, 'text/plain', Buffer.from('no')) : readAndSend(context),
    );
    const head = `Expect: 100-continue\r\nContent-Length: 3\r\n${AS_ADMIN}\r\n`;
    const socket = await server.raw();
    socket.write(`POST /x HTTP/1.1\r\n${head}`);
    expect(await untilSeen(socket, /\r\n\r\n/)).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('abc');
    expect(await untilSeen(socket, /\r\n\r\n3/)).toMatch(/^HTTP\/1\.1 200 OK/);
    // Whether the next bytes are the body or another request, nobody could tell.
    socket.write(`POST /no HTTP/1.1\r\n${head}`);
    expect(await restOf(socket)).toMatch(/^HTTP\/1\.1 404 [\s\S]*Connection: close[\s\S]*no$/);

    const headers = { ':path': '/x', ':method': 'POST', authorization: `Bearer ${TOKEN}`, expect: '100-continue' };
    const stream = server.session().request(headers);
    await once(stream, 'continue');
    stream.end('abc');
    const [part] = await once(stream, 'data');
    expect(String(part)).toBe('3');
  });

  it('that comes too slowly is given up', async () => {
    const clock = new FakeClock();
    await using server = await httpServerUnderTest(readAndSend, { clock });
    const dropping = await begun(server, 'abc');
    const dropping2 = begun2(server, 'abc');
    const flowing = await begun(server, '');
    await until(() => server.httpServer.openRequests === 3);
    const answer = restOf(dropping);
    const answer2 = once(dropping2, 'response').then(async ([response]) => {
      let body = '';
      for await (const part of dropping2) body += part;
      return [response[':status'], JSON.parse(body).message];
    });
    for (let seconds = 0; seconds < 12; seconds++) {
      await new Promise<void>((resolve) => flowing.write(Buffer.alloc(17 * 1024), () => resolve()));
      for (let i = 0; i < 20; i++) await turn();
      await clock.advance(1000);
    }
    const message = 'Timeout: request body was sent too slowly';
    expect(await answer).toMatch(
      new RegExp(`^HTTP/1\\.1 504 [\\s\\S]*Connection: close[\\s\\S]*"message":"${message}"`),
    );
    expect(await answer2).toEqual([504, message]);
    await until(() => server.httpServer.openRequests === 1);
    const rest = untilSeen(flowing, /3000000$/);
    flowing.write(Buffer.alloc(3_000_000 - 12 * 17 * 1024));
    expect(await rest).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('that finds no room is rejected, and others make room for who has less', async () => {
    const limits = { bodies: { totalBytes: MIB }, graceMs: 20 };
    await using server = await httpServerUnderTest(readAndSend, { limits });
    const greedy = [];
    for (let i = 0; i < 4; i++) greedy.push(await begun(server, Buffer.alloc(250 * 1024), AS_OTHER));
    await until(() => server.httpServer.openRequests === 4);
    const newest = await begun(server, Buffer.alloc(250 * 1024), AS_OTHER);
    expect(await untilSeen(newest, /later\.\n$/)).toMatch(/^HTTP\/1\.1 429 [\s\S]*Retry-After: 1/);
    const oldest = untilSeen(greedy[0]!, /later\.\n$/);
    const small = await server.get('/x', { method: 'POST', body: Buffer.alloc(100 * 1024) });
    expect([small.status, small.body.toString()]).toEqual([200, String(100 * 1024)]);
    expect(await oldest).toMatch(/^HTTP\/1\.1 429 /);
  });

  it('to a request that has no use for one is thrown away', async () => {
    await using server = await httpServerUnderTest((context) => text(context, 'ok'));
    const body = Buffer.alloc(2 * MIB);
    const headers = { 'content-length': String(body.length) };
    expect((await server.get('/version', { body, headers })).status).toBe(200);
    expect((await server.get('/version')).status).toBe(200);
    const asked = { ':path': '/version', authorization: `Bearer ${TOKEN}` };
    const stream = server.session().request(asked, { endStream: false });
    stream.end(body);
    const [response] = await once(stream, 'response');
    expect(response[':status']).toBe(200);
  });
});

describe('an answer', () => {
  it.each([
    ['whole', (context: RequestContext) => text(context, Buffer.alloc(LARGE))],
    [
      'in parts',
      (context: RequestContext) => {
        const parts = Array.from({ length: LARGE / MIB }, () => Buffer.alloc(MIB));
        return context.sendParts(200, 'text/plain', parts, LARGE);
      },
    ],
  ])('that is not read is cut off, one that is read slowly is not: %s', async (_what, handle) => {
    const clock = new FakeClock();
    await using server = await httpServerUnderTest(handle, { clock });
    const stalled = await server.raw();
    const cut = once(stalled, 'close');
    stalled.write(`GET /x HTTP/1.1\r\n${AS_ADMIN}\r\n`);
    const session = server.session(NO_WINDOW);
    const stalled2 = session.request({ ':path': '/x', authorization: `Bearer ${TOKEN}` });
    const cut2 = new Promise((resolve) => stalled2.once('error', resolve));
    await once(stalled2, 'response');
    const slow = await server.raw();
    slow.write(`GET /x HTTP/1.1\r\n${AS_ADMIN}\r\n`);
    await until(() => server.httpServer.openRequests === 3);
    let got = 0;
    // A few slices of a megabyte each in every stretch of thirty seconds.
    for (let seconds = 0; seconds < 60; seconds += 10) {
      const wanted = got + 4 * MIB;
      slow.on('data', (part: Buffer) => {
        got += part.length;
        if (got >= wanted) slow.removeAllListeners('data').pause();
      });
      slow.resume();
      await until(() => got >= wanted);
      for (let i = 0; i < 50; i++) await turn();
      await clock.advance(10_000);
    }
    stalled.resume();
    await Promise.all([cut, cut2]);
    expect(server.httpServer.openRequests).toBe(1);
    slow.on('data', (part: Buffer) => {
      got += part.length;
    });
    slow.resume();
    await until(() => got >= LARGE);
  });

  it('of a watch waits for its reader as long as it takes', async () => {
    const clock = new FakeClock();
    let write: (bytes: Buffer) => boolean = () => true;
    await using server = await httpServerUnderTest(
      (context) => {
        const stream = context.stream('application/json');
        write = (bytes) => stream.write(bytes);
      },
      { clock },
    );
    const headers = { ':path': '/api/v1/pods?watch=1', authorization: `Bearer ${TOKEN}` };
    const watch = server.session(NO_WINDOW).request(headers);
    await once(watch, 'response');
    write(Buffer.from('event'));
    await clock.advance(3_600_000);
    expect(server.httpServer.openRequests).toBe(1);
    expect(watch.destroyed).toBe(false);
  });

  it('that finds no room is rejected, and others make room for who has less', async () => {
    const limits = { answers: { totalBytes: 3 * MIB }, graceMs: 20 };
    await using server = await httpServerUnderTest(
      (context) => text(context, Buffer.alloc(Number(context.query.get('bytes')))),
      { limits },
    );
    const session = server.session(NO_WINDOW);
    const ask = (bytes: number) => {
      const headers = { ':path': `/x?bytes=${bytes}`, authorization: `Bearer ${OTHER_TOKEN}` };
      const stream = session.request(headers);
      stream.on('error', () => {});
      return stream;
    };
    const greedy = Array.from({ length: 3 }, () => ask(MIB));
    for (const stream of greedy) {
      const [response] = await once(stream, 'response');
      expect(response[':status']).toBe(200);
    }
    const [refused] = await once(ask(MIB), 'response');
    expect([refused[':status'], refused['retry-after']]).toEqual([429, '1']);
    const cut = new Promise((resolve) => greedy[0]!.once('close', resolve));
    const small = await server.get(`/x?bytes=${MIB / 2}`);
    expect([small.status, small.body.length]).toEqual([200, MIB / 2]);
    await cut;
    expect(greedy[1]!.destroyed).toBe(false);
  });

  it('to a change is not refused: room is kept for it, and then its client waits for nothing older', async () => {
    const limits = { answers: { totalBytes: 4 * MIB, owedBytes: MIB }, graceMs: 20 };
    await using server = await httpServerUnderTest(
      (context) => text(context, Buffer.alloc(Number(context.query.get('bytes')))),
      { limits },
    );
    const session = server.session(NO_WINDOW);
    const ask = async (method: string, bytes: number) => {
      const headers = { ':method': method, ':path': `/x?bytes=${bytes}`, authorization: `Bearer ${TOKEN}` };
      const stream = session.request(headers);
      stream.on('error', () => {});
      const [response] = await once(stream, 'response');
      return { stream, status: response[':status'] };
    };
    const reads: Awaited<ReturnType<typeof ask>>[] = [];
    for (let i = 0; i < 3; i++) reads.push(await ask('GET', MIB));
    expect((await ask('GET', MIB / 2)).status).toBe(429);
    expect((await ask('POST', MIB)).status).toBe(200);
    const cut = new Promise((resolve) => reads[0]!.stream.once('close', resolve));
    expect((await ask('DELETE', MIB / 2)).status).toBe(200);
    await cut;
    expect(reads[1]!.stream.destroyed).toBe(false);
  });

  it('to a change for which there is no room at all is cut off, and does not say that nothing was done', async () => {
    const limits = { answers: { totalBytes: 3 * MIB }, graceMs: 20 };
    await using server = await httpServerUnderTest(
      (context) => text(context, Buffer.alloc(Number(context.query.get('bytes')))),
      { limits },
    );
    const session = server.session(NO_WINDOW);
    const ask = (method: string, bytes: number, token: string) => {
      const headers = { ':method': method, ':path': `/x?bytes=${bytes}`, authorization: `Bearer ${token}` };
      return session.request(headers).on('error', () => {});
    };
    await once(ask('GET', MIB, OTHER_TOKEN), 'response');
    const change = ask('POST', 2.5 * MIB, TOKEN);
    let answered: unknown;
    change.once('response', ({ ':status': status }) => (answered = status));
    await new Promise((resolve) => change.once('close', resolve));
    expect(answered).toBeUndefined();
  });
});
