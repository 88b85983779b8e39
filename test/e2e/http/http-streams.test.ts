/** Live streams over real sockets: order, joining, slow readers, many of them, and a server that stops. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { HttpRequestContext } from '../../../src/server/http/http-request-context.ts';
import type { ByteStream, RequestContext } from '../../../src/server/request/request-context.ts';
import type { StreamEnd } from '../../../src/server/request/stream-end.ts';
import {
  type HttpServerUnderTest,
  httpServerUnderTest,
  restOf,
  sendOneByOne,
  TOKEN,
  untilSeen,
} from './http-server-under-test.ts';

const WATCH = '/api/v1/pods?watch=1';
const HEAD = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;

/** Handlers that put every stream they open where the test finds it. */
function collecting(): {
  handle: (context: RequestContext) => void;
  next: () => Promise<ByteStream>;
  streams: ByteStream[];
} {
  const streams: ByteStream[] = [];
  const waiting: ((stream: ByteStream) => void)[] = [];
  return {
    streams,
    handle: (context) => {
      if (context.requestInfo.kind === 'other') return context.send(200, 'text/plain', Buffer.from('ok'));
      const stream = context.stream('application/json');
      streams.push(stream);
      return waiting.shift()?.(stream);
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

/** The body of an answer over HTTP/1.1 that came in chunks. */
function withoutChunks(answer: string): string {
  let at = answer.indexOf('\r\n\r\n') + 4;
  let body = '';
  for (;;) {
    const end = answer.indexOf('\r\n', at);
    const length = Number.parseInt(answer.slice(at, end), 16);
    if (length === 0) return body;
    body += answer.slice(end + 2, end + 2 + length);
    at = end + 2 + length + 2;
  }
}

const closed = (stream: ByteStream) => new Promise<StreamEnd>((resolve) => stream.onClose(resolve));

async function openRaw(server: HttpServerUnderTest) {
  const socket = await server.raw();
  socket.write(`GET ${WATCH} HTTP/1.1\r\n${HEAD}\r\n`);
  return socket;
}

it('sends the head of a stream at once, before anything is written', async () => {
  const { handle } = collecting();
  await using server = await httpServerUnderTest(handle);
  const socket = await openRaw(server);
  const head = await untilSeen(socket, /\r\n\r\n/);
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(head).toMatch(/\r\nTransfer-Encoding: chunked\r\n/);
  expect(head).not.toMatch(/content-length|connection: close/i);
  const [response] = await once(
    server.session().request({ ':path': WATCH, authorization: `Bearer ${TOKEN}` }),
    'response',
  );
  expect(response[':status']).toBe(200);
});

it('joins what is written in one turn into one chunk, in order', async () => {
  const { handle, next } = collecting();
  await using server = await httpServerUnderTest(handle);
  const opened = next();
  const socket = await openRaw(server);
  const stream = await opened;
  await untilSeen(socket, /\r\n\r\n/);
  const seen = untilSeen(socket, /second\n\r\n/);
  stream.write(Buffer.from('first\n'));
  await Promise.resolve();
  stream.write(Buffer.alloc(0));
  stream.write(Buffer.from('second\n'));
  expect(await seen).toBe('d\r\nfirst\nsecond\n\r\n');
  const rest = restOf(socket);
  stream.write(Buffer.from('last\n'));
  stream.end('error');
  stream.write(Buffer.from('never\n'));
  await untilSeen(socket, /0\r\n\r\n$/).then((text) => expect(text).toBe('5\r\nlast\n\r\n0\r\n\r\n'));
  socket.write(`GET /version HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`); // the connection is as good as new
  expect(await rest).toMatch(/HTTP\/1\.1 200 OK[\s\S]*ok$/);
});

describe('behind a stream on HTTP/1.1', () => {
  const opening = async () => {
    const asked: string[] = [];
    const { handle, next } = collecting();
    const server = await httpServerUnderTest((context) => {
      asked.push(context.path);
      handle(context);
    });
    const opened = next();
    const socket = await openRaw(server);
    const stream = await opened;
    await untilSeen(socket, /\r\n\r\n/);
    return { server, asked, next, socket, stream };
  };

  it('requests wait until it has ended, and are then answered in order', async () => {
    const { server, asked, socket, stream, next } = await opening();
    await using _ = server;
    socket.write(`GET /one HTTP/1.1\r\n${HEAD}\r\nGET ${WATCH} HTTP/1.1\r\n${HEAD}\r\nGET /two HTTP/1.1\r\n`);
    const event = untilSeen(socket, /event\n/);
    stream.write(Buffer.from('event\n'));
    await event;
    socket.write(`${HEAD}Connection: close\r\n\r\n`);
    expect(asked).toEqual(['/api/v1/pods']);
    const second = next();
    const rest = restOf(socket);
    stream.end('error');
    (await second).end('error');
    expect(await rest).toMatch(/^0\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*ok(HTTP\/1\.1 200 OK[\s\S]*){2}ok$/);
    expect(asked).toEqual(['/api/v1/pods', '/one', '/api/v1/pods', '/two']);
    expect(server.httpServer.openRequests).toBe(0);
  });

  it.each([
    ['many requests', `GET /x HTTP/1.1\r\n${HEAD}\r\n`.repeat(40)],
    ['what is no request', 'no request\r\n\r\n'],
    ['a head without an end', `GET /${'a'.repeat(1_200_000)}`],
  ])('%s end the connection, and are not taken for its events', async (_what, bytes) => {
    const { server, asked, socket, stream } = await opening();
    await using _ = server;
    const gone = closed(stream);
    let got = '';
    socket.on('data', (part: Buffer) => {
      got += part.toString('latin1');
    });
    const cut = new Promise((resolve) => socket.once('close', resolve));
    socket.write(bytes);
    await Promise.all([gone, cut]);
    expect(got).toBe('');
    expect(asked).toEqual(['/api/v1/pods']);
    expect(server.httpServer.openRequests).toBe(0);
  });

  it('a head that does not come to its end in time ends the connection without a word', async () => {
    const { handle, next } = collecting();
    await using server = await httpServerUnderTest(handle, { limits: { headersTimeoutMs: 50 } });
    const opened = next();
    const socket = await openRaw(server);
    await opened;
    await untilSeen(socket, /\r\n\r\n/);
    const rest = restOf(socket);
    socket.write('GET /ver');
    expect(await rest).toBe('');
  });

  it('a head that comes byte by byte ends the connection', async () => {
    const { server, socket, stream, asked } = await opening();
    await using _ = server;
    const gone = closed(stream);
    socket.write('GET /');
    const sent = await sendOneByOne(socket, 60_000);
    await gone;
    expect(sent).toBeLessThan(60_000);
    expect(asked).toEqual(['/api/v1/pods']);
  });
});

it('loses nothing of a request that had half come when a stream began', async () => {
  const { handle, next } = collecting();
  await using server = await httpServerUnderTest(handle);
  const opened = next();
  const socket = await server.raw();
  socket.write(`GET ${WATCH} HTTP/1.1\r\n${HEAD}\r\nGET /ver`);
  const stream = await opened;
  const seen = untilSeen(socket, /one\n\r\n/);
  stream.write(Buffer.from('one\n'));
  await seen;
  const rest = restOf(socket);
  socket.write(`sion HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`);
  stream.end('error');
  expect(await rest).toMatch(/^0\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*ok$/);
});

describe.each([1, 2])('a stream over HTTP/%i', (version) => {
  const open = async (server: HttpServerUnderTest) => {
    if (version === 1) return openRaw(server);
    return server.session().request({ ':path': WATCH, authorization: `Bearer ${TOKEN}` });
  };

  it('tells its owner when the client leaves', async () => {
    const { handle, next } = collecting();
    await using server = await httpServerUnderTest(handle);
    const opened = next();
    const client = await open(server);
    const stream = await opened;
    const gone = closed(stream);
    client.destroy();
    await gone;
    expect(stream.write(Buffer.from('into the void'))).toBe(true);
    expect(stream.bufferedBytes).toBe(0);
    stream.end('error');
  });

  it('ends by an error, not by its client, if its handler fails in the middle', async () => {
    const ends: StreamEnd[] = [];
    await using server = await httpServerUnderTest((context) => {
      context.stream('application/json').onClose((why) => ends.push(why));
      throw new Error('the server behind it broke off');
    });
    const client = (await open(server)) as unknown as Readable;
    client.on('error', () => {}).resume();
    await new Promise((resolve) => client.once('close', resolve));
    expect(ends).toEqual(['error']);
  });

  it('sends long writes whole and in their place between the others', async () => {
    const { handle, next } = collecting();
    await using server = await httpServerUnderTest(handle);
    const opened = next();
    const client = version === 1 ? await server.raw() : await open(server);
    if (version === 1) client.write(`GET ${WATCH} HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`);
    const seen = restOf(client as never);
    const stream = await opened;
    let sent = '';
    const put = (text: string) => {
      sent += text;
      return Buffer.from(text);
    };
    // Each larger than the one before: at the end larger than any buffer that is kept for them.
    for (let round = 0; round < 8; round++) {
      stream.write(put(`before ${round};`));
      const text = put(`${round}`.repeat(200_000 * (round + 1)));
      const canTakeMore = stream.writeLong(text.length, (target, at) => void text.copy(target, at));
      stream.write(put(`after ${round};`));
      if (!canTakeMore) await new Promise<void>((resolve) => stream.onDrain(resolve));
    }
    stream.end('error');
    const body = version === 1 ? withoutChunks(await seen) : await seen;
    expect(body.length).toBe(sent.length);
    expect(body === sent).toBe(true);
  });

  it('says false to a slow reader, holds what it took, and goes on when it reads again', async () => {
    const { handle, next } = collecting();
    await using server = await httpServerUnderTest(handle);
    const opened = next();
    const client = (await open(server)) as unknown as ClientHttp2Stream;
    const stream = await opened;
    client.pause();
    const frame = Buffer.alloc(64 * 1024, 'x');
    let written = 0;
    let drains = 0;
    const fill = () => {
      while (stream.write(frame)) written += frame.length;
      written += frame.length;
      expect(stream.bufferedBytes).toBeLessThan(256 * 1024 + 2 * frame.length);
    };
    const drained = new Promise<void>((resolve) =>
      stream.onDrain(() => {
        drains++;
        if (written < 64 * 1024 * 1024) fill();
        else resolve();
      }),
    );
    fill();
    let got = 0;
    client.on('data', (part: Buffer) => {
      got += part.length;
    });
    client.resume();
    await drained;
    expect(drains).toBeGreaterThan(10);
    stream.end('error');
    await once(client, version === 1 ? 'data' : 'end');
    expect(got).toBeGreaterThan(written / 2);
  });

  it('cuts off a reader whose owner does not listen, at the hard limit', async () => {
    const { handle, next } = collecting();
    const room = { slowBytes: 1024, tightSlowBytes: 1024, totalSlowBytes: 1024 * 1024 };
    const limits = { stream: { ...room, cutOffBytes: 1024 * 1024, lingerMs: 1000 } };
    await using server = await httpServerUnderTest(handle, { limits });
    const opened = next();
    const client = await open(server);
    client.on('error', () => {});
    client.pause();
    const stream = await opened;
    const gone = closed(stream);
    const flood = setInterval(() => stream.write(Buffer.alloc(512 * 1024)), 1);
    expect(await gone).toBe('too-slow');
    clearInterval(flood);
    expect(stream.bufferedBytes).toBe(0);
  });
});

it('holds less for readers that stop once it holds much for others', async () => {
  const { handle, streams } = collecting();
  const room = { slowBytes: 256 * 1024, tightSlowBytes: 16 * 1024, totalSlowBytes: 512 * 1024 };
  const limits = { stream: { ...room, cutOffBytes: 1024 * 1024, lingerMs: 1000 }, graceMs: 20 };
  await using server = await httpServerUnderTest(handle, { limits });
  const session = server.session({ initialWindowSize: 0 });
  const clients = Array.from({ length: 6 }, () =>
    session.request({ ':path': WATCH, authorization: `Bearer ${TOKEN}` }),
  );
  for (const client of clients) client.on('error', () => {});
  await Promise.all(clients.map((client) => once(client, 'response')));
  const frame = Buffer.alloc(4096);
  const held = streams.map((stream) => {
    let bytes = frame.length;
    while (stream.write(frame)) bytes += frame.length;
    return bytes;
  });
  expect(held.filter((bytes) => bytes > 256 * 1024)).toHaveLength(2);
  expect(held.filter((bytes) => bytes <= 20 * 1024)).toHaveLength(4);
  expect(streams.map(({ stretchBytes }) => stretchBytes)).toEqual(Array(6).fill(16 * 1024));
  for (const client of clients.slice(0, 2)) client.close();
  await Promise.all(streams.slice(0, 2).map(closed));
  expect(streams[5]!.stretchBytes).toBeGreaterThan(16 * 1024);
});

it('holds two thousand idle streams and gives each its event', async () => {
  const { handle, streams } = collecting();
  await using server = await httpServerUnderTest(handle);
  const clients: ClientHttp2Stream[] = [];
  const heads: Promise<unknown>[] = [];
  for (let i = 0; i < 20; i++) {
    const session = server.session();
    session.setMaxListeners(0);
    for (let j = 0; j < 100; j++) {
      const client = session.request({ ':path': WATCH, authorization: `Bearer ${TOKEN}` });
      clients.push(client);
      heads.push(once(client, 'response'));
    }
  }
  await Promise.all(heads);
  expect(server.httpServer.openRequests).toBe(2000);
  const got = clients.map((client) => once(client, 'data'));
  const event = Buffer.from('{"type":"ADDED"}\n');
  for (const stream of streams) stream.write(event);
  for (const [bytes] of await Promise.all(got)) expect(bytes.equals(event)).toBe(true);
  await server.httpServer.close();
  expect(server.httpServer.openRequests).toBe(0);
});

it('stops: streams end cleanly, requests under way finish, new ones are rejected, nothing is left', async () => {
  const { handle, next } = collecting();
  let finish = () => {};
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await using server = await httpServerUnderTest(async (context) => {
    if (context.path === '/held') await held;
    handle(context);
  });
  const openedFirst = next();
  const first = await openRaw(server);
  const one = await openedFirst;
  const openedSecond = next();
  const second = server.session().request({ ':path': WATCH, authorization: `Bearer ${TOKEN}` });
  await openedSecond;
  const slow = await server.raw();
  slow.write(`GET /held HTTP/1.1\r\n${HEAD}\r\n`);
  const under2 = server.get2('/held');
  while (server.httpServer.openRequests < 4) await new Promise((resolve) => setImmediate(resolve));

  one.write(Buffer.from('last\n'));
  second.resume();
  const ends = [untilSeen(first, /5\r\nlast\n\r\n0\r\n\r\n$/), once(second, 'end')];
  const stopped = server.httpServer.close();
  expect(server.httpServer.close()).toBe(stopped);
  await Promise.all(ends);
  expect(second.rstCode).toBe(0);
  slow.write(`GET /version HTTP/1.1\r\n${HEAD}\r\n`);
  finish();
  const answers = await restOf(slow);
  expect(answers).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*Connection: close[\s\S]*ok/);
  expect((await under2).body.toString()).toBe('ok');
  await stopped;
  await expect(server.raw()).rejects.toThrow('ECONNREFUSED');
});

it('cuts off a stream in the turn in which its client resets another one', async () => {
  const begun: { context: RequestContext; stream: ByteStream }[] = [];
  await using server = await httpServerUnderTest((context) => {
    const stream = context.stream('application/json');
    stream.write(Buffer.from('begun'));
    begun.push({ context, stream });
  });
  const session = server.session();
  const watch = async () => {
    const asked = session.request({ ':path': '/watch', authorization: `Bearer ${TOKEN}` });
    asked.on('error', () => {});
    await once(asked, 'response');
    return asked;
  };
  const cut = await watch();
  const reset = await watch();
  begun[1]!.stream.onClose(() => (begun[0]!.context as HttpRequestContext).destroy());
  const closed = new Promise((resolve) => cut.once('close', resolve));
  reset.close(constants.NGHTTP2_CANCEL);
  await closed;
  expect(cut.rstCode).not.toBe(constants.NGHTTP2_NO_ERROR);
});

it('stops in time even when a client never finishes', async () => {
  const { handle } = collecting();
  await using server = await httpServerUnderTest(
    (context) => (context.path === '/never' ? new Promise(() => {}) : handle(context)),
    {
      limits: { graceMs: 50 },
    },
  );
  const socket = await server.raw();
  socket.write(`GET /never HTTP/1.1\r\n${HEAD}\r\n`);
  while (server.httpServer.openRequests < 1) await new Promise((resolve) => setImmediate(resolve));
  const gone = once(socket, 'close');
  await server.httpServer.close();
  await gone;
});

it('leaves nothing behind that keeps the process alive', async () => {
  const script = fileURLToPath(new URL('http-server-process.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);
  expect(stdout).toBe('served 200, stream ended, closed\n');
});
