/**
 * A port of a pod as a port of this machine, or as a stream. Each connection has a WebSocket of its own (`v4.channel.k8s.io`),
 * for one that carries several cannot end one of them. The first message of each of its two channels names the port.
 *
 * A WebSocket cannot be ended on one side: who ends its side of a stream ends the connection when the peer has nothing more.
 */
import { createServer, type Server } from 'node:net';
import { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { closeOnce } from '../../api/index.ts';
import { TransportError } from '../errors.ts';
import { pods } from '../objects/generated/core-v1.ts';
import { objectPath } from '../resources/resource-path.ts';
import type { Transport } from '../transport/transport.ts';
import { openWebSocket, type WebSocketStream } from './websocket.ts';

const FORWARD_PROTOCOL = 'v4.channel.k8s.io';

const DATA = 0;
const ERROR = 1;
const PIECE_BYTES = 64 * 1024;

export type PortForwardTarget = { readonly name: string; readonly namespace: string; readonly port: number };

/** One connection to the port. Destroyed with what the node says, if nobody listens there. */
export async function dialPod(
  transport: Transport,
  { name, namespace, port }: PortForwardTarget,
  signal?: AbortSignal,
): Promise<Duplex> {
  const path = objectPath(pods, namespace, name, 'portforward');
  const socket = await openWebSocket(transport, path, {
    protocols: [FORWARD_PROTOCOL],
    query: { ports: port },
    signal,
  });
  const send = async (chunk: Buffer) => {
    for (let from = 0; from < chunk.length; from += PIECE_BYTES)
      await socket.send(Buffer.from([DATA]), chunk.subarray(from, from + PIECE_BYTES));
  };
  const messages = forwarded(socket, `${namespace}/${name}:${port}`);
  return new Duplex({
    read() {
      messages.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error) => this.destroy(error as Error),
      );
    },
    write: (chunk: Buffer, _encoding, done) => void send(chunk).then(() => done(), done),
    destroy: (error, done) => void socket.close().then(() => done(error), done),
  });
}

async function* forwarded(socket: WebSocketStream, target: string): AsyncGenerator<Buffer, void, void> {
  const seen = new Set<number>();
  for await (const message of socket) {
    const [channel] = message;
    const data = message.subarray(1);
    if (channel !== DATA && channel !== ERROR) continue;
    if (!seen.has(channel))
      seen.add(channel); // the port, which we know
    else if (channel === ERROR && data.length > 0)
      throw new TransportError('body', `Cannot forward to ${target}: ${data.toString().trim()}`);
    else if (data.length > 0) yield data;
  }
}

export type PortForwardOptions = {
  readonly namespace?: string | undefined;
  /** Of the pod. */
  readonly port: number;
  /** Of this machine: any that is free. */
  readonly localPort?: number | undefined;
  /** 127.0.0.1 */
  readonly host?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What breaks a single connection. */
  readonly onError?: ((error: unknown) => void) | undefined;
};

/** Listens until it is closed. */
export class PortForward implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #open: Set<Duplex>;
  readonly close: () => Promise<void> = closeOnce(() => this.#close());
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => void this.close();

  constructor(server: Server, open: Set<Duplex>, signal?: AbortSignal) {
    this.#server = server;
    this.#open = open;
    this.#signal = signal;
    this.port = (server.address() as { port: number }).port;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const one of this.#open) one.destroy();
    await closed;
  }
}

export async function forwardPort(
  transport: Transport,
  name: string,
  namespace: string,
  options: PortForwardOptions,
): Promise<PortForward> {
  const { port, localPort = 0, host = '127.0.0.1', signal, onError = () => {} } = options;
  signal?.throwIfAborted();
  const open = new Set<Duplex>();
  const server = createServer({ allowHalfOpen: true }, async (local) => {
    open.add(local);
    local.once('close', () => open.delete(local)).on('error', () => {});
    try {
      const remote = await dialPod(transport, { name, namespace, port }, signal);
      open.add(remote);
      remote.once('close', () => open.delete(remote));
      await Promise.all([pipeline(remote, local), pipeline(local, remote, { end: false })]);
    } catch (error) {
      if (server.listening) onError(error);
    } finally {
      local.destroy();
    }
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(localPort, host, resolve));
  const forward = new PortForward(server, open, signal);
  if (signal?.aborted) await forward.close(); // while it began to listen
  signal?.throwIfAborted();
  return forward;
}
