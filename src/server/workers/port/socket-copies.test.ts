import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import { type BoundPort, bindPort, type SocketHandle } from './bound-port.ts';
import { SocketCopies } from './socket-copies.ts';

const opened: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

async function open(): Promise<{ bound: BoundPort; first: SocketHandle; copies: SocketCopies; clock: FakeClock }> {
  const clock = new FakeClock();
  const bound = await bindPort('127.0.0.1', 0);
  const { first, copies } = await SocketCopies.open(bound.handle.fd, clock);
  return { bound, first, copies, clock };
}

/** As many as there are, up to `most`. */
function takeAll(copies: SocketCopies, most: number): SocketHandle[] {
  const taken: SocketHandle[] = [];
  while (taken.length < most && copies.hasOne) taken.push(copies.take());
  opened.push(...taken);
  return taken;
}

it('each is the same socket: who lets go of one and listens on the next takes what came in between', async () => {
  const { bound, first, copies } = await open();
  const server = createServer((socket) => socket.end('taken'));
  server.listen(first);
  await once(server, 'listening');
  server.close();
  const client = connect(bound.port, '127.0.0.1');
  await once(client, 'connect'); // nobody listens: it waits in the queue
  server.listen(copies.take());
  expect(String(await once(client, 'data'))).toBe('taken');
  opened.push(server, bound.handle);
  await copies.close();
});

it('more are made when half of them are used, but not again at once', async () => {
  const { bound, first, copies, clock } = await open();
  opened.push(first, bound.handle);
  expect(takeAll(copies, 17)).toHaveLength(17);
  await eventually(() => expect(clock.sleeping).toBe(1));
  const fds = takeAll(copies, 100).map(({ fd }) => fd);
  expect(fds).toHaveLength(32);
  expect(new Set(fds).size).toBe(32);
  await clock.advance(999);
  expect(copies.hasOne).toBe(false);
  await clock.advance(1);
  await eventually(() => expect(copies.hasOne).toBe(true));
  await copies.close();
});

it('are there again when making them fails for a while, also if all were used meanwhile', async () => {
  const { bound, first, copies, clock } = await open();
  opened.push(first, bound.handle);
  const { execPath } = process;
  process.execPath = '/nowhere';
  try {
    takeAll(copies, 100);
    await eventually(() => expect(clock.sleeping).toBe(1));
  } finally {
    process.execPath = execPath;
  }
  await clock.advance(1000);
  await eventually(() => expect(copies.hasOne).toBe(true));
  await copies.close();
});

it('closed while more are made, the port is free', async () => {
  const { bound, first, copies } = await open();
  const server = createServer();
  server.listen(first);
  await once(server, 'listening');
  for (const copy of takeAll(copies, 17)) copy.close();
  opened.length = 0;
  const isClosed = copies.close();
  server.close();
  bound.handle.close();
  await isClosed;
  const again = await bindPort('127.0.0.1', bound.port);
  opened.push(again.handle);
  const other = createServer();
  other.listen(again.handle);
  await once(other, 'listening');
  opened.push(other);
});
