/** A line that can be cut: a TCP proxy on loopback that drops its connections and takes no new ones while it is cut. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export type TcpProxy = AsyncDisposable & {
  readonly port: number;
  cut(): void;
  mend(): void;
};

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    if (isCut) {
      socket.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    keep(target);
    socket.pipe(target).pipe(socket);
    socket.once('close', () => target.destroy());
    target.once('close', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true;
      dropAll();
    },
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      dropAll();
      server.close();
      await once(server, 'close');
    },
  };
}
