/**
 * The connections to one cluster, kept open and used again: a bounded pool for short requests, and one without a bound
 * for streams, each of which has a connection of its own. So a slow reader of one watch delays nobody, and watches never
 * take the places of requests.
 *
 * When certificates change, new connections are made with the new ones; streams that run on the old ones run on. The
 * HTTP client itself is loaded with the first request.
 */
import type { Pool } from 'undici';
import type { ClusterAccess } from '../config/cluster-access.ts';
import type { Identity } from '../config/credentials.ts';
import { makeConnector, type TlsMaterial } from './connector.ts';

export type Purpose = 'short' | 'stream';

export type ConnectionsOptions = {
  readonly access: ClusterAccess;
  readonly connectMs: number;
  readonly maxConnections: number;
};

type Pools = Record<Purpose, Pool> & { readonly material: TlsMaterial };

/** Longer than this nobody waits on an idle connection; servers that close earlier say so, and are believed. */
const KEEP_ALIVE_MS = 30_000;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<Pool>();
  #pools: Pools | undefined;
  #isClosed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async pool(purpose: Purpose, { cert, key }: Identity): Promise<Pool> {
    const { authority } = this.#options.access;
    const pem = typeof authority === 'string' ? authority : await authority?.text();
    const material: TlsMaterial = {
      ...(pem !== undefined && { authority: pem }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    };
    if (!this.#pools || !isSame(this.#pools.material, material)) await this.#renew(material);
    return this.#pools![purpose];
  }

  /** Breaks every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((pool) => pool.destroy()));
    this.#open.clear();
  }

  async #renew(material: TlsMaterial): Promise<void> {
    const { Pool, buildConnector } = await import('undici');
    if (this.#pools && isSame(this.#pools.material, material)) return; // someone else was faster
    const { access, connectMs, maxConnections } = this.#options;
    const connect = makeConnector(buildConnector, {
      ...material,
      skipsTlsVerify: access.skipsTlsVerify ?? false,
      ...(access.tlsServerName !== undefined && { tlsServerName: access.tlsServerName }),
      ...(access.proxy && { proxy: access.proxy }),
      timeoutMs: connectMs,
    });
    const make = (connections: number | null) => {
      const limits = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS }; // the Deadline has the limits
      const pool = new Pool(access.server.origin, { connections, pipelining: 1, connect, ...limits });
      this.#open.add(pool);
      return pool;
    };
    const old = this.#pools;
    this.#pools = { short: make(maxConnections), stream: make(null), material };
    if (old) for (const pool of [old.short, old.stream]) this.#retire(pool);
    if (this.#isClosed) await this.close();
  }

  /** It takes nothing new, and goes when its last stream has ended. */
  #retire(pool: Pool): void {
    pool.close().then(
      () => this.#open.delete(pool),
      () => this.#open.delete(pool),
    );
  }
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a.authority === b.authority && a.cert === b.cert && a.key === b.key;
}
