/** A TLS server on loopback that says to each request what a test wants, byte by byte if need be. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { hookCredentials } from './https-hook.testing.ts';

export type RawRequest = {
  readonly text: string;
  readonly socket: TLSSocket;
  /** By how many the connection had been used before. */
  readonly before: number;
};

export type RawHook = AsyncDisposable & {
  readonly url: string;
  /** PEM in base64. */
  readonly caBundle: string;
  /** All that came, in order. */
  readonly requests: RawRequest[];
  readonly sockets: TLSSocket[];
  answer: (request: RawRequest) => void;
  close(): Promise<void>;
};

export async function startRawHook(answer: RawHook['answer']): Promise<RawHook> {
  const { cert, key, authority } = hookCredentials();
  const server = createServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
    hook.sockets.push(socket);
    socket.on('error', () => {}); // told by its close
    let text = '';
    let before = 0;
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (let end = endOf(text); end > 0 && end <= text.length; end = endOf(text)) {
        const request = { text: text.slice(0, end), socket, before: before++ };
        text = text.slice(end);
        hook.requests.push(request);
        hook.answer(request);
      }
    });
  });
  server.on('tlsClientError', () => {}); // whoever looks at the certificate and leaves
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of hook.sockets) socket.destroy();
    await closed;
  };
  const hook: RawHook = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(authority).toString('base64'),
    requests: [],
    sockets: [],
    answer,
    close,
    [Symbol.asyncDispose]: close,
  };
  return hook;
}

/** Where the first request ends; 0 while that is not known. */
function endOf(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  return head < 0 ? 0 : head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
}
