import { Server, Socket } from 'node:net';
import { expect, it } from 'vitest';
import { paceConnections } from './paced-accept.ts';

it('of many connections that come at once a few are taken in a turn, all of them in order, but not who has gone', async () => {
  const taken: Socket[] = [];
  const server = new Server((socket) => void taken.push(socket));
  paceConnections(server);
  const sockets = Array.from({ length: 50 }, () => new Socket());
  for (const socket of sockets) server.emit('connection', socket);
  sockets[20]!.destroy();
  expect(taken).toHaveLength(0);
  let most = 0;
  while (taken.length < sockets.length - 1) {
    const before = taken.length;
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, taken.length - before);
  }
  expect(most).toBe(4);
  expect(taken).toEqual(sockets.filter((_, i) => i !== 20));
});
