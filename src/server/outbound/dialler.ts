/**
 * Opens connections to one target: TLS, verified as its configuration says, speaking HTTP/1.1 only. A Service is resolved
 * anew for each of them. Certificates are read with the first, and the last session is offered to the next, so that a
 * further connection is cheap.
 *
 * A connection is there within its time or not at all; whoever gives up waiting destroys what was begun.
 */
import { isIP } from 'node:net';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { AbortNotice } from '../request/abort-notice.ts';
import type { CallTarget } from './call-target.ts';
import type { Address, ResolveService } from './service-resolver.ts';

const CONNECT_MS = 30_000;
/** Probes of the kernel. */
const KEEP_ALIVE_DELAY_MS = 60_000;
const HTTPS_PORT = 443;

class DialTimeoutError extends Error {
  readonly code = 'DIAL_TIMEOUT';
}

export class Dialler {
  readonly #target: CallTarget;
  readonly #resolve: ResolveService;
  readonly #connectMs: number;
  #context: SecureContext | undefined;
  #session: Buffer | undefined;

  constructor(
    target: CallTarget,
    resolve: ResolveService,
    { connectMs = CONNECT_MS }: { readonly connectMs?: number } = {},
  ) {
    this.#target = target;
    this.#resolve = resolve;
    this.#connectMs = connectMs;
  }

  async open(signal: AbortNotice): Promise<TLSSocket> {
    const { service, serverName, skipsTlsVerify = false } = this.#target;
    const asked = addressOf(this.#target.origin);
    const { host, port } = service ? await this.#resolve(service.namespace, service.name, service.port) : asked;
    signal.throwIfAborted();
    const name = serverName ?? asked.host;
    const socket = connect({
      host,
      port,
      secureContext: this.#secureContext(),
      rejectUnauthorized: !skipsTlsVerify,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(name) === 0 && { servername: name }),
      ...(this.#session && { session: this.#session }),
    });
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
    socket.on('session', (session) => {
      this.#session = session;
    });
    return secured(socket, this.#connectMs, signal);
  }

  #secureContext(): SecureContext {
    const { authority, clientCertificate } = this.#target;
    this.#context ??= createSecureContext({ ...(authority !== undefined && { ca: authority }), ...clientCertificate });
    return this.#context;
  }
}

function secured(socket: TLSSocket, connectMs: number, signal: AbortNotice): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const stop = (why: unknown) => {
      settle();
      socket.on('error', () => {}); // of which nobody is told any more
      socket.destroy();
      reject(why);
    };
    const onAbort = () => stop(signal.reason);
    const timer = setTimeout(() => stop(new DialTimeoutError('no connection in time')), connectMs);
    const onSecure = () => {
      settle();
      resolve(socket);
    };
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', stop).off('secureConnect', onSecure);
    };
    signal.addEventListener('abort', onAbort);
    socket.on('error', stop).on('secureConnect', onSecure);
  });
}

function addressOf(origin: string): Address {
  const { protocol, hostname, port } = new URL(origin);
  if (protocol !== 'https:') throw new Error(`unsupported protocol scheme "${protocol.slice(0, -1)}"`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? HTTPS_PORT : Number(port) };
}
