/**
 * The connections that the server opens to others: webhooks, converters, extension API servers. One pool for each
 * target and what it is trusted by, kept open and used again; the pools used longest ago go when there are too many.
 *
 * Always true: a connection is made only to whom a configuration names, is verified against the authority that
 * configuration gives (or the system's), and follows no redirect and no proxy. A Service is resolved anew for each
 * connection. How many requests wait for a connection is bounded by those who call: each request of a client holds a
 * seat while it waits. Closing breaks every connection.
 */
import type { buildConnector as BuildConnector, Dispatcher, Pool } from 'undici';
import type { CallTarget } from './call-target.ts';
import type { ResolveService } from './service-resolver.ts';

const MAX_POOLS = 128;
const CONNECTIONS_PER_POOL = 100;
const KEEP_ALIVE_MS = 90_000;
const CONNECT_MS = 30_000;

export class OutboundConnections {
  readonly #resolve: ResolveService;
  /** In the order of their last use. */
  readonly #pools = new Map<string, Pool>();
  /** The key of a target costs more to make than to look up. */
  readonly #keys = new WeakMap<CallTarget, string>();
  readonly #retired = new Set<Pool>();
  #isClosed = false;

  constructor(resolve: ResolveService) {
    this.#resolve = resolve;
  }

  /** At once where it is known: most calls go where others went before. */
  poolOf(target: CallTarget): Dispatcher | Promise<Dispatcher> {
    let key = this.#keys.get(target);
    if (key === undefined) {
      const { origin, service, serverName, authority, skipsTlsVerify, clientCertificate } = target;
      key = JSON.stringify([origin, service, serverName, authority, skipsTlsVerify, clientCertificate]);
      this.#keys.set(target, key);
    }
    const known = this.#pools.get(key);
    if (known) {
      if (this.#pools.size > 1) {
        this.#pools.delete(key);
        this.#pools.set(key, known);
      }
      return known;
    }
    return this.#open(target, key);
  }

  async #open(target: CallTarget, key: string): Promise<Dispatcher> {
    const { Pool, buildConnector } = await loadHttp();
    if (this.#isClosed) throw new Error('the connections are closed');
    const made = this.#pools.get(key); // by another call, meanwhile
    if (made) return made;
    const pool = new Pool(target.origin, {
      connections: CONNECTIONS_PER_POOL,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: this.#connector(buildConnector, target),
    });
    this.#pools.set(key, pool);
    if (this.#pools.size > MAX_POOLS) this.#retire(this.#pools.keys().next().value!);
    return pool;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#pools.values(), ...this.#retired];
    this.#pools.clear();
    this.#retired.clear();
    await Promise.all(all.map((pool) => pool.destroy()));
  }

  /** It takes nothing new, and goes when its last request has ended. */
  #retire(key: string): void {
    const pool = this.#pools.get(key)!;
    this.#pools.delete(key);
    this.#retired.add(pool);
    const forget = () => void this.#retired.delete(pool);
    pool.close().then(forget, forget);
  }

  #connector(
    buildConnector: typeof BuildConnector,
    { service, serverName, authority, skipsTlsVerify = false, clientCertificate }: CallTarget,
  ): BuildConnector.connector {
    const connect = buildConnector({
      ...(authority !== undefined && { ca: authority }),
      ...clientCertificate,
      rejectUnauthorized: !skipsTlsVerify,
      timeout: CONNECT_MS,
    });
    return (asked, done) => {
      const named = serverName === undefined ? asked : { ...asked, servername: serverName };
      if (!service) return connect(named, done);
      this.#resolve(service.namespace, service.name, service.port).then(
        ({ host, port }) => connect({ ...named, hostname: host, host, port: String(port) }, done),
        (err: Error) => done(err, null),
      );
    };
  }
}

let http: Promise<typeof import('undici')> | undefined;

/** Loaded with the first call: most servers never make one. */
function loadHttp(): Promise<typeof import('undici')> {
  http ??= import('undici');
  return http;
}
