/**
 * Opens connections for the HTTP client: TLS with what the cluster asks for, directly or through a proxy by CONNECT.
 * Whatever goes wrong here is a TransportError of the phase `connect`: nothing of any request was sent.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { createSecureContext as CreateSecureContext } from 'node:tls';
import type { buildConnector as BuildConnector } from 'undici';
import { TransportError } from '../errors.ts';

export type TlsMaterial = {
  readonly authority?: string;
  readonly cert?: string;
  readonly key?: string;
};

export type Connector = BuildConnector.connector;

export type ConnectorOptions = TlsMaterial & {
  readonly skipsTlsVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxy?: URL;
  readonly timeoutMs: number;
};

/** Probes of the kernel; a dead peer is also found by the idle limit of a watch. */
const KEEP_ALIVE_DELAY_MS = 30_000;

export function makeConnector(
  buildConnector: typeof BuildConnector,
  createSecureContext: typeof CreateSecureContext,
  { authority, cert, key, skipsTlsVerify, tlsServerName, proxy, timeoutMs }: ConnectorOptions,
): Connector {
  const material = {
    ...(authority !== undefined && { ca: authority }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  const common = { timeout: timeoutMs, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS };
  const plain = buildConnector(common);
  let secure: Connector | undefined;
  // Certificates and keys are read with the first connection, and not again for every one: that is half of its cost.
  const makeSecure = () =>
    buildConnector({ ...common, secureContext: createSecureContext(material), rejectUnauthorized: !skipsTlsVerify });
  return (asked, done) => {
    const options = tlsServerName === undefined ? asked : { ...asked, servername: tlsServerName };
    const target = `${asked.hostname}:${asked.port || (asked.protocol === 'https:' ? 443 : 80)}`;
    const fail = (cause: unknown) => done(connectError(target, cause, proxy), null);
    const finish: BuildConnector.Callback = (...[err, socket]) => (err ? fail(err) : done(null, socket));
    let connect = plain;
    try {
      if (asked.protocol === 'https:') connect = secure ??= makeSecure();
    } catch (cause) {
      return fail(cause);
    }
    if (!proxy) return connect(options, finish);
    tunnel(proxy, target, timeoutMs).then(
      (socket) =>
        asked.protocol === 'https:' ? connect({ ...options, httpSocket: socket }, finish) : done(null, socket),
      fail,
    );
  };
}

/** To a server in this process. */
export function dialConnector(dial: () => Duplex): Connector {
  // Not at once: the HTTP client does not expect to be called back while it asks.
  return (_asked, done) =>
    queueMicrotask(() => {
      try {
        done(null, dial() as Socket);
      } catch (error) {
        done(connectError('the server in this process', error, undefined), null);
      }
    });
}

function connectError(target: string, cause: unknown, proxy: URL | undefined): TransportError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const way = proxy ? ` through ${proxy.protocol}//${proxy.host}` : '';
  return new TransportError('connect', `Cannot connect to ${target}${way}: ${message || code}`, {
    cause,
    isTimeout: code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT',
  });
}

async function tunnel(proxy: URL, target: string, timeoutMs: number): Promise<Socket> {
  const { request } = proxy.protocol === 'https:' ? await import('node:https') : await import('node:http');
  const login = decodeURIComponent(proxy.username) + (proxy.password && `:${decodeURIComponent(proxy.password)}`);
  return new Promise((resolve, reject) => {
    const asked = request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: target,
      agent: false,
      headers: {
        host: target,
        ...(login && { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
      },
      ...(timeoutMs > 0 && { timeout: timeoutMs }),
    });
    asked.once('connect', (response, socket) => {
      socket.setTimeout(0);
      if (response.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      reject(new Error(`the proxy answered ${response.statusCode} ${response.statusMessage}`));
    });
    asked.once('timeout', () => asked.destroy(new Error(`no answer from the proxy within ${timeoutMs} ms`)));
    asked.once('error', reject);
    asked.end();
  });
}
