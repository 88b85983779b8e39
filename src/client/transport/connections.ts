/**
 * The connections to one cluster. Short requests share a bounded pool of them, kept open and used again. Every stream
 * has one of its own, which ends with it: so a slow reader of one watch delays no other request, watches never take the
 * places of requests, and one that is given up leaves nothing behind.
 *
 * When certificates change, new connections are made with the new ones; streams that run on the old ones run on. The
 * HTTP client itself is loaded with the first request.
 */
import type { Client, Dispatcher, Pool } from 'undici';
import type { ClusterAccess } from '../config/cluster-access.ts';
import type { Identity } from '../config/credentials.ts';
import { ConfigError } from '../errors.ts';
import { type Connector, dialConnector, makeConnector, type TlsMaterial } from './connector.ts';

export type Purpose = 'short' | 'stream';

/** To be released when the request is over, by whatever end. */
export type Lease = { readonly dispatcher: Dispatcher; release(): void };

export type ConnectionsOptions = {
  readonly access: ClusterAccess;
  readonly connectMs: number;
  readonly maxConnections: number;
};

type Current = { readonly material: TlsMaterial; readonly connect: Connector; readonly pool: Pool };

/** Longer than this nobody waits on an idle connection; servers that close earlier say so, and are believed. */
const KEEP_ALIVE_MS = 30_000;
/** The Deadline of a request has the limits. */
const noLimits = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Pool | Client>();
  #current: Current | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async lease(purpose: Purpose, { cert, key }: Identity): Promise<Lease> {
    const { access } = this.#options;
    const pem = typeof access.authority === 'string' ? access.authority : await access.authority?.text();
    const material: TlsMaterial = {
      ...(pem !== undefined && { authority: pem }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
    const [{ Client, Pool, buildConnector }, { createSecureContext }] = await Promise.all([
      loadHttp(),
      import('node:tls'),
    ]);
    if (this.#isClosed) throw new Error('the connections are closed');
    if (!this.#current || !isSame(this.#current.material, material)) {
      const { connectMs: timeoutMs, maxConnections: connections } = this.#options;
      const { skipsTlsVerify = false, tlsServerName, proxy } = access;
      const dial = access.dial && dialConnector(access.dial);
      const connect =
        dial ??
        makeConnector(buildConnector, createSecureContext, {
          ...material,
          skipsTlsVerify,
          ...(tlsServerName !== undefined && { tlsServerName }),
          ...(proxy && { proxy }),
          timeoutMs,
        });
      if (this.#current) this.#retire(this.#current.pool);
      const pool = new Pool(access.server.origin, { ...noLimits, connections, connect });
      this.#open.add(pool);
      this.#current = { material, connect, pool };
    }
    if (purpose === 'short') return { dispatcher: this.#current.pool, release: () => {} };
    const client = new Client(access.server.origin, { ...noLimits, connect: this.#current.connect });
    this.#open.add(client);
    return { dispatcher: client, release: () => this.#destroy(client) };
  }

  /** Breaks every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((one) => one.destroy()));
    this.#open.clear();
  }

  #destroy(client: Client): void {
    if (this.#open.delete(client)) client.destroy().catch(() => {});
  }

  /** It takes nothing new, and goes when its last request has ended. */
  #retire(pool: Pool): void {
    pool.close().then(
      () => this.#open.delete(pool),
      () => this.#open.delete(pool),
    );
  }
}

let http: Promise<typeof import('undici')> | undefined;

/**
 * By its file: Bun puts a stand-in of its own, which has none of this, in the place of the package of that name. A bundler may
 * have broken it: then no request will ever work, and trying again would say nothing.
 */
async function loadHttp(): Promise<typeof import('undici')> {
  http ??= import('undici/index.js');
  try {
    return await http;
  } catch (cause) {
    const advice = 'Of a bundle as an ES module, leave "undici" outside, or bundle as CommonJS';
    throw new ConfigError(`Cannot load the HTTP client: ${(cause as Error).message}. ${advice}`, { cause });
  }
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.authority === b.authority && a.cert === b.cert && a.key === b.key;
}
