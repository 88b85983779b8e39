/**
 * A few new connections in a turn of the loop: a handshake takes about half a millisecond of it, and a thousand clients that
 * come back at once would have it for themselves for half a second. Who is connected is served in between.
 *
 * Always true: connections are taken in the order they came, none is left out; one that went away meanwhile costs nothing.
 * What a client has sent until its turn comes waits in its socket.
 */
import type { Server, Socket } from 'node:net';

const PER_TURN = 4;

/** Before anybody else listens: those who do so from now on hear of a connection at once. */
export function paceConnections(server: Server): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  let waiting: Socket[] = [];
  const take = () => {
    const now = waiting.slice(0, PER_TURN);
    waiting = waiting.slice(PER_TURN);
    if (waiting.length > 0) setImmediate(take);
    for (const socket of now) if (!socket.destroyed) for (const listener of listeners) listener.call(server, socket);
  };
  server.on('connection', (socket) => {
    if (waiting.push(socket) === 1) setImmediate(take);
    socket.on('error', ignore); // it may go before its turn comes
  });
}

function ignore(): void {}
