/**
 * HTTP without TLS on the port for TLS gets a sentence instead of silence, as from Go's server.
 *
 * OpenSSL tells it by the first bytes and gives up; all that is kept for it is which sockets are still in their
 * handshake, by where they come from. That is bounded: among more than these at once, somebody may be left without.
 */
import type { Server, Socket } from 'node:net';

const MAX_FRESH = 1000;

const SENTENCE = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

export function answerPlainHttp(server: Server): void {
  const fresh = new Map<string, Socket>();
  server.on('connection', (socket) => {
    fresh.set(originOf(socket), socket);
    if (fresh.size <= MAX_FRESH) return;
    const [oldest] = fresh.keys();
    fresh.delete(oldest!);
  });
  server.on('secureConnection', (socket: Socket) => fresh.delete(originOf(socket)));
  server.on('tlsClientError', (err: NodeJS.ErrnoException, socket: Socket) => {
    const origin = originOf(socket);
    if (err.code === 'ERR_SSL_HTTP_REQUEST') fresh.get(origin)?.end(SENTENCE);
    fresh.delete(origin);
  });
}

function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
