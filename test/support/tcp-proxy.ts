/**
 * A TCP proxy that misbehaves when told: it cuts connections, stalls them in silence, closes one half, or lets bytes
 * drip. It knows nothing of TLS or HTTP, as the networks it stands for; faults of single requests are FaultProxy's, in
 * src/testing.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = AsyncDisposable & {
  readonly port: number;
  /** How many connections were made so far. */
  readonly opened: number;
  /** How many are open. */
  readonly open: number;
  /** Resets everything that is open. */
  cut(): void;
  /** Nothing gets through any more, and nobody is told; what connects later is not stalled. */
  stall(): void;
  /** Ends the direction to the client as if the server had closed it. */
  halfClose(): void;
  /** From now on, bytes to clients come in pieces of this size. */
  drip(bytes: number): void;
  /** New connections are reset at once while this is true. */
  refuses: boolean;
};

type Pair = { readonly client: Socket; readonly server: Socket; isStalled: boolean };

/** Before a server that may be stopped and started again: while it is stopped, the port it had last, where nobody answers. */
export function startTcpProxyTo(server: { readonly url: string }): Promise<TcpProxy> {
  let { url } = server;
  return startTcpProxy(() => {
    try {
      url = server.url;
    } catch {
      // It is stopped.
    }
    return Number(new URL(url).port);
  });
}

/** What a network does to connections that are open, with a name that ends a sentence about it. */
export const networkFaults: readonly [fault: string, strike: (proxy: TcpProxy) => void][] = [
  ['is cut', (proxy) => proxy.cut()],
  ['is half closed', (proxy) => proxy.halfClose()],
  ['goes silent', (proxy) => proxy.stall()],
  [
    'drips and is cut',
    (proxy) => {
      proxy.drip(7);
      proxy.cut();
    },
  ],
];

export async function startTcpProxy(targetPort: () => number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let pieceBytes = 0;
  const state = { opened: 0, refuses: false };
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    state.opened++;
    if (state.refuses) return void client.resetAndDestroy();
    const server = connect({ port: targetPort(), host: '127.0.0.1', allowHalfOpen: true });
    const pair: Pair = { client, server, isStalled: false };
    pairs.add(pair);
    client.on('data', (chunk) => pair.isStalled || server.write(chunk));
    server.on('data', (chunk) => {
      if (pair.isStalled) return;
      const step = pieceBytes || chunk.length;
      let isFull = false;
      for (let from = 0; from < chunk.length; from += step) isFull = !client.write(chunk.subarray(from, from + step));
      if (!isFull) return;
      server.pause(); // a slow client slows the server, not this process
      client.once('drain', () => server.resume());
    });
    client.on('end', () => pair.isStalled || server.end());
    server.on('end', () => pair.isStalled || client.end());
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        if (!pair.isStalled) for (const other of [client, server]) other.destroy();
      });
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    get opened() {
      return state.opened;
    },
    get open() {
      return pairs.size;
    },
    cut() {
      for (const { client, server } of pairs) {
        client.resetAndDestroy();
        server.resetAndDestroy();
      }
    },
    stall() {
      for (const pair of pairs) pair.isStalled = true;
    },
    halfClose() {
      for (const { client } of pairs) client.end();
    },
    drip(bytes) {
      pieceBytes = bytes;
    },
    get refuses() {
      return state.refuses;
    },
    set refuses(value) {
      state.refuses = value;
    },
    async [Symbol.asyncDispose]() {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      listener.close();
    },
  };
}
