import { once } from 'node:events';
import { Server, Socket } from 'node:net';
import { expect, it } from 'vitest';
import { paceConnections } from './paced-accept.ts';

const LONG_MS = 60_000;

it('of many that speak at once a few are taken in a turn, all of them in order, but not who has gone', async () => {
  const { server, taken } = paced(LONG_MS);
  const sockets = Array.from({ length: 50 }, () => new Socket());
  for (const socket of sockets) {
    speak(socket);
    server.emit('connection', socket);
  }
  sockets[20]!.destroy();
  expect(taken).toHaveLength(0);
  let most = 0;
  while (taken.length < sockets.length - 1) {
    const before = taken.length;
    await nextTurn();
    most = Math.max(most, taken.length - before);
  }
  expect(most).toBe(4);
  expect(taken).toEqual(sockets.filter((_, i) => i !== 20));
});

it('who has said nothing yet is not taken, and keeps nobody waiting', async () => {
  const { server, taken } = paced(LONG_MS);
  const silent = Array.from({ length: 50 }, () => new Socket());
  const loud = new Socket();
  for (const socket of [...silent, loud]) server.emit('connection', socket);
  speak(loud);
  while (taken.length === 0) await nextTurn();
  expect(taken).toEqual([loud]);
  speak(silent[7]!);
  while (taken.length === 1) await nextTurn();
  expect(taken).toEqual([loud, silent[7]]);
  expect(silent[7]!.read()?.toString()).toBe('hello');
  for (const socket of silent) socket.destroy();
});

it('who stays silent is hung up on', async () => {
  const { server, taken } = paced(20);
  const socket = new Socket();
  server.emit('connection', socket);
  await once(socket, 'close');
  expect(taken).toEqual([]);
});

function paced(silenceMs: number): { server: Server; taken: Socket[] } {
  const taken: Socket[] = [];
  const server = new Server((socket) => void taken.push(socket));
  paceConnections(server, silenceMs);
  return { server, taken };
}

function speak(socket: Socket): void {
  socket.push(Buffer.from('hello'));
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
