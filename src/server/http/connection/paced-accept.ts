/**
 * A few handshakes in a turn of the loop: one takes about half a millisecond of it, and a thousand clients that come back at
 * once would have it for themselves for half a second. Who is connected is served in between.
 *
 *   connection ─► its first bytes are there ─► waits for its turn ─► handshake, at once
 *
 * Always true: a handshake begins when its client has sent something, so that its work is done in the turn that it was given,
 * and whoever sends nothing keeps nobody waiting. They are taken in the order in which they spoke, none is left out; one that
 * went away meanwhile costs nothing, one that stays silent for `silenceMs` is hung up on.
 */
import type { Server, Socket } from 'node:net';

const PER_TURN = 4;

/** Before anybody else listens: those who do so from now on hear of a connection at once. */
export function paceConnections(server: Server, silenceMs: number): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  let waiting: Socket[] = [];
  const take = () => {
    const now = waiting.slice(0, PER_TURN);
    waiting = waiting.slice(PER_TURN);
    if (waiting.length > 0) setImmediate(take);
    for (const socket of now) if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket);
  };
  const wait = (socket: Socket) => {
    socket.setTimeout(0);
    socket.off('timeout', hangUp);
    if (waiting.push(socket) === 1) setImmediate(take);
  };
  server.on('connection', (socket) => {
    socket.on('error', ignore); // it may go before its turn comes
    socket.setTimeout(silenceMs, hangUp);
    if (socket.readableLength > 0) wait(socket);
    else socket.once('readable', () => wait(socket));
  });
}

function hangUp(this: Socket): void {
  this.destroy();
}

function ignore(): void {}
