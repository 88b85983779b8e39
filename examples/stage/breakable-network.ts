/**
 * A network that can be cut: a proxy on this machine that the client goes through, by CONNECT, to whatever cluster the
 * kubeconfig names. `cut` resets every connection, as a dying load balancer would; new ones can be made at once.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectSocket, type Socket } from 'node:net';
import { KubeClient, KubeConfig, type TransportOptions } from 'longwatch/client';

export type BreakableNetwork = AsyncDisposable & {
  /** A client that can only reach the cluster through this network. */
  connect(options?: TransportOptions): Promise<KubeClient>;
  cut(): void;
};

export async function breakableNetwork(): Promise<BreakableNetwork> {
  const sockets = new Set<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // being cut is what it is for
    socket.once('close', () => sockets.delete(socket));
  };
  const proxy = createServer().on('connect', (request, socket) => {
    const target = new URL(`tcp://${request.url}`);
    const near = socket as Socket;
    const far = connectSocket(Number(target.port), target.hostname.replace(/^\[|\]$/g, ''));
    for (const end of [near, far]) hold(end);
    far.once('connect', () => {
      near.write('HTTP/1.1 200 Connected\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    cut,
    async connect(options = {}) {
      const config = await KubeConfig.load();
      return new KubeClient({ ...config.access(), proxy: address }, options);
    },
    async [Symbol.asyncDispose]() {
      cut();
      proxy.close();
    },
  };
}
