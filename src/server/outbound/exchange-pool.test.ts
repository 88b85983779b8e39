import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { callTarget } from './call-target.ts';
import { Connection, Exchange } from './connection.ts';
import { Dialler } from './dialler.ts';
import { ExchangePool } from './exchange-pool.ts';
import { hookCredentials } from './https-hook.testing.ts';
import { type RawHook, type RawRequest, startRawHook } from './raw-hook.testing.ts';

const REQUEST = Buffer.from('POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\nx');
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function hookWith(answer: RawHook['answer']): Promise<RawHook> {
  const hook = await startRawHook(answer);
  open.push(() => hook.close());
  return hook;
}

type Place = Pick<RawHook, 'url' | 'caBundle'>;

function dialFor({ url, caBundle }: Place): Dialler {
  return new Dialler(callTarget({ url, caBundle }), () => Promise.reject());
}

function poolOf(hook: Place, mostConnections = 100): ExchangePool {
  const dialler = dialFor(hook);
  const pool = new ExchangePool((signal) => dialler.open(signal), { mostConnections });
  open.push(() => pool.destroy());
  return pool;
}

/** The body of the answer, or what went wrong. */
function ask(pool: ExchangePool, took: (exchange: Exchange) => void = () => {}, mayRepeat = true): Promise<string> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(REQUEST, 100, mayRepeat, (error, answer) => {
      if (answer) resolve(answer.takeBody().toString());
      else reject(error);
    });
    pool.run(exchange);
    took(exchange);
  });
}

const say = ({ socket }: RawRequest, body: string, headers = '') =>
  socket.write(`HTTP/1.1 200 OK\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);

/** Answers when it is told to. */
function held() {
  const waiting: RawRequest[] = [];
  return { waiting, answer: (request: RawRequest) => void waiting.push(request) };
}

it('one connection takes one exchange after the other, and another what comes meanwhile', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith((request) => say(request, 'a'));
  const pool = poolOf(hook);
  for (let i = 0; i < 5; i++) expect(await ask(pool)).toBe('a');
  expect(hook.sockets).toHaveLength(1);
  hook.answer = answer;
  const both = Promise.all([ask(pool), ask(pool)]);
  await eventually(() => expect(waiting).toHaveLength(2));
  for (const request of waiting) say(request, `${hook.sockets.indexOf(request.socket)}`);
  expect(await both).toEqual(['0', '1']);
  expect(hook.requests.map(({ text }) => text)).toEqual(Array(7).fill(REQUEST.toString()));
});

it('a further connection resumes the session of the first', async () => {
  const hook = await hookWith((request) =>
    say(request, `${request.socket.isSessionReused()}`, 'Connection: close\r\n'),
  );
  const pool = poolOf(hook);
  expect(await ask(pool)).toBe('false');
  expect(await ask(pool)).toBe('true');
  expect(hook.sockets).toHaveLength(2);
});

it('there are so many connections at most; who waits is served in turn', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook, 2);
  const served: number[] = [];
  const all = [0, 1, 2, 3, 4].map((i) => ask(pool).then(() => served.push(i)));
  for (let i = 0; i < 5; i++) {
    await eventually(() => expect(waiting.length).toBeGreaterThan(0));
    say(waiting.shift()!, 'a');
    await eventually(() => expect(served).toHaveLength(i + 1));
  }
  await Promise.all(all);
  expect(hook.sockets).toHaveLength(2);
  expect(served.slice(2)).toEqual([2, 3, 4]);
});

it('many connections are made at once without a warning', async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on('warning', warn);
  open.push(async () => process.off('warning', warn));
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook);
  const all = Promise.all(Array.from({ length: 20 }, () => ask(pool)));
  await eventually(() => expect(waiting).toHaveLength(20));
  for (const request of waiting) say(request, 'a');
  await all;
  expect(warnings).toEqual([]);
});

it.each<[how: string, leave: (request: RawRequest) => void]>([
  ['is ended', ({ socket }) => socket.end()],
  ['is broken', ({ socket }) => socket.destroy()],
])(
  'what meets a kept connection that %s before a byte of the answer is sent once more, on a new one',
  async (_how, leave) => {
    const hook = await hookWith((request) => (request.before > 0 ? leave(request) : say(request, 'a')));
    const pool = poolOf(hook);
    expect(await ask(pool)).toBe('a');
    expect(await ask(pool)).toBe('a');
    expect(hook.requests.map(({ before }) => before)).toEqual([0, 1, 0]);
  },
);

it('what may not be sent twice is not, also where its connection had been closed', async () => {
  const hook = await hookWith((request) => (request.before > 0 ? request.socket.end() : say(request, 'a')));
  const pool = poolOf(hook);
  await ask(pool);
  await expect(ask(pool, () => {}, false)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(hook.requests.map(({ before }) => before)).toEqual([0, 1]);
});

it('what is sent once more and fails again has failed', async () => {
  const hook = await hookWith((request) => say(request, 'a'));
  const pool = poolOf(hook);
  await ask(pool);
  hook.answer = ({ socket }) => socket.end();
  await expect(ask(pool)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(hook.requests.map(({ before }) => before)).toEqual([0, 1, 0]);
});

it('what is sent once more and meets another connection that had been closed has failed', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const dialler = dialFor(hook);
  let dials = 0;
  const pool = new ExchangePool((signal) => (++dials < 3 ? dialler.open(signal) : new Promise(() => {})));
  open.push(() => pool.destroy());
  const ready = Promise.all([ask(pool), ask(pool)]);
  await eventually(() => expect(waiting).toHaveLength(2));
  for (const request of waiting.splice(0)) say(request, 'a');
  await ready;
  const [first, second] = [ask(pool), ask(pool)];
  await eventually(() => expect(waiting).toHaveLength(2));
  const [one, other] = waiting.splice(0);
  other!.socket.end();
  await eventually(() => expect(dials).toBe(3));
  say(one!, 'a');
  await first;
  await eventually(() => expect(waiting).toHaveLength(1));
  waiting[0]!.socket.end();
  await expect(second).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it.each<[when: string, before: number, answer: (request: RawRequest) => void, asked: number]>([
  ['of a new connection', 0, ({ socket }) => socket.end(), 1],
  ['after a byte of the answer', 1, ({ socket }) => socket.end('H'), 2],
  ['after an answer on the way', 1, ({ socket }) => socket.end('HTTP/1.1 100 Continue\r\n\r\n'), 2],
  ['after an answer that is none', 1, ({ socket }) => socket.end('hello\r\n'), 2],
])('nothing is sent once more at the end %s', async (_when, before, answer, asked) => {
  const hook = await hookWith((request) => (request.before < before ? say(request, 'a') : answer(request)));
  const pool = poolOf(hook);
  for (let i = 0; i < before; i++) await ask(pool);
  await expect(ask(pool)).rejects.toThrow();
  expect(hook.requests).toHaveLength(asked);
});

it.each<[what: string, answer: (request: RawRequest) => void]>([
  ['that says so', (request) => say(request, 'a', 'Connection: close\r\n')],
  ['of HTTP/1.0', ({ socket }) => socket.write('HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na')],
  ['that ends with it', ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\na')],
  [
    'with something behind it',
    ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200'),
  ],
  ['of a connection that is kept no longer', (request) => say(request, 'a', 'Keep-Alive: timeout=1\r\n')],
])('a connection is not used again after an answer %s', async (_what, answer) => {
  const hook = await hookWith(answer);
  const pool = poolOf(hook);
  expect(await ask(pool)).toBe('a');
  expect(await ask(pool)).toBe('a');
  expect(hook.requests.map(({ before }) => before)).toEqual([0, 0]);
  await eventually(() => expect(hook.sockets.map(({ destroyed }) => destroyed)).toEqual([true, true]));
});

it('an answer to a request that is not all written yet is taken, and its connection is not used again', async () => {
  const hook = await hookWith(() => {});
  const pool = poolOf(hook);
  const long = Buffer.concat([
    Buffer.from('POST / HTTP/1.1\r\ncontent-length: 33554432\r\n\r\n'),
    Buffer.alloc(1 << 25),
  ]);
  const asked = new Promise((resolve, reject) => {
    pool.run(new Exchange(long, 100, true, (error, answer) => (answer ? resolve(answer.code) : reject(error))));
  });
  await eventually(() => expect(hook.sockets).toHaveLength(1));
  const [socket] = hook.sockets;
  socket!.pause();
  socket!.write('HTTP/1.1 413 Too Long\r\nContent-Length: 0\r\n\r\n');
  expect(await asked).toBe(413);
  socket!.resume();
  await once(socket!, 'close');
});

it('a connection is used again also where its answer is there before Node has told that the request is written', async () => {
  const { cert, key, authority } = hookCredentials();
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const server = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { cert, key, answered } = workerData;
    const text = 'HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\na';
    const server = require('node:tls').createServer({ cert, key }, (socket) => {
      parentPort.postMessage('connection');
      socket.on('error', () => {});
      socket.on('data', () => socket.write(text, () => {
        Atomics.store(answered, 0, 1);
        Atomics.notify(answered, 0);
      }));
    });
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
  `;
  const worker = new Worker(server, { eval: true, workerData: { cert, key, answered } });
  open.push(() => worker.terminate());
  const [port] = await once(worker, 'message');
  let connections = 0;
  worker.on('message', () => void connections++);
  const pool = poolOf({ url: `https://127.0.0.1:${port}`, caBundle: Buffer.from(authority).toString('base64') });
  await ask(pool);
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    answered[0] = 0;
    const asked = ask(pool);
    expect(Atomics.wait(answered, 0, 0, 10_000)).not.toBe('timed-out');
    await asked;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(connections).toBe(1);
});

it('whatever comes unasked ends the connection, as does its other end', async () => {
  const hook = await hookWith((request) => say(request, 'a'));
  const pool = poolOf(hook);
  for (const end of [() => hook.sockets.at(-1)!.write('HTTP/1.1 200 OK\r\n'), () => hook.sockets.at(-1)!.end()]) {
    await ask(pool);
    const closed = once(hook.sockets.at(-1)!, 'close');
    end();
    await closed;
  }
  await ask(pool);
  expect(hook.requests.map(({ before }) => before)).toEqual([0, 0, 0]);
});

it('an exchange that is given up takes its connection with it, and is not told', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook);
  let given: Exchange | undefined;
  const told = ask(pool, (exchange) => {
    given = exchange;
  }).then(() => expect.fail('it was told'));
  await eventually(() => expect(waiting).toHaveLength(1));
  const closed = once(waiting[0]!.socket, 'close');
  pool.giveUp(given!);
  await closed;
  hook.answer = (request) => say(request, 'b');
  expect(await Promise.race([told, ask(pool)])).toBe('b');
  expect(hook.requests.map(({ before }) => before)).toEqual([0, 0]);
});

it('an exchange that is given up before it is sent is never sent', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook);
  const both = Promise.all([ask(pool), ask(pool)]);
  await eventually(() => expect(waiting).toHaveLength(2));
  for (const request of waiting.splice(0)) say(request, 'a');
  await both;
  const other = ask(pool);
  ask(pool, (exchange) => pool.giveUp(exchange)).catch(() => {});
  await eventually(() => expect(hook.sockets.map(({ destroyed }) => destroyed)).toContain(true));
  say(waiting[0]!, 'b');
  expect(await other).toBe('b');
  expect(hook.requests).toHaveLength(3);
});

it('what comes before a request is sent is no answer to it', async () => {
  const sent: string[] = [];
  const socket = new Duplex({
    read() {},
    write(bytes, _encoding, done) {
      sent.push(String(bytes));
      done();
    },
  });
  const gone: Connection[] = [];
  const never = () => expect.fail('it is gone');
  const owner = { freed: never, wasStale: never, gone: (one: Connection) => void gone.push(one) };
  const connection = new Connection(socket as TLSSocket, owner);
  const failed = new Promise((resolve) => connection.begin(new Exchange(REQUEST, 100, true, resolve), false));
  socket.emit('data', Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na'));
  expect(await failed).toMatchObject({ code: 'ECONNRESET' });
  await new Promise((resolve) => setImmediate(resolve));
  expect({ gone, sent }).toEqual({ gone: [connection], sent: [] });
});

it('an exchange that is given up while it waits is never sent; the connection made for it serves the next', async () => {
  const hook = await hookWith((request) => say(request, 'a'));
  const pool = poolOf(hook, 1);
  ask(pool, (exchange) => pool.giveUp(exchange)).catch(() => {});
  expect(await ask(pool)).toBe('a');
  expect(hook.requests).toHaveLength(1);
  expect(hook.sockets).toHaveLength(1);
});

it('a connection that cannot be made fails the exchange that it was for, and the others have theirs made', async () => {
  const hook = await hookWith((request) => say(request, 'a'));
  const dialler = dialFor(hook);
  let tries = 0;
  const pool = new ExchangePool(
    (signal) => (tries++ < 2 ? Promise.reject(new Error(`no ${tries}`)) : dialler.open(signal)),
    { mostConnections: 1 },
  );
  open.push(() => pool.destroy());
  const all = await Promise.allSettled([ask(pool), ask(pool), ask(pool), ask(pool)]);
  expect(all.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message))).toEqual([
    'no 1',
    'no 2',
    'a',
    'a',
  ]);
});

it('closing lets what was begun come to its end', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook, 1);
  const both = Promise.all([ask(pool), ask(pool)]);
  await eventually(() => expect(waiting).toHaveLength(1));
  const closed = pool.close();
  say(waiting.shift()!, 'a');
  await eventually(() => expect(waiting).toHaveLength(1));
  say(waiting.shift()!, 'b');
  expect(await both).toEqual(['a', 'b']);
  await closed;
  await eventually(() => expect(hook.sockets[0]!.destroyed).toBe(true));
});

it('closing leaves no connection that nobody uses', async () => {
  const hook = await hookWith((request) => say(request, 'a'));
  const pool = poolOf(hook);
  await ask(pool);
  const closed = once(hook.sockets[0]!, 'close');
  await pool.close();
  await closed;
});

it('destroying breaks what is begun, what waits and what is being connected', async () => {
  const { waiting, answer } = held();
  const hook = await hookWith(answer);
  const pool = poolOf(hook, 1);
  const all = Promise.allSettled([ask(pool), ask(pool)]);
  await eventually(() => expect(waiting).toHaveLength(1));
  await pool.destroy();
  const mute = createTcpServer(() => {});
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  open.push(() => new Promise((resolve) => mute.close(resolve)));
  const { port } = mute.address() as AddressInfo;
  const dialler = new Dialler(callTarget({ url: `https://127.0.0.1:${port}` }), () => Promise.reject());
  const other = new ExchangePool((signal) => dialler.open(signal));
  const connecting = expect(ask(other)).rejects.toThrow('the connections are closed');
  const [socket] = await once(mute, 'connection');
  const gone = once(socket, 'close');
  socket.resume();
  await other.destroy();
  await connecting;
  await gone;
  expect((await all).map((one) => one.status === 'rejected' && one.reason.message)).toEqual([
    'the connections are closed',
    'the connections are closed',
  ]);
});
