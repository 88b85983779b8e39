/**
 * The connections that the server opens to others, kept open and used again. Webhooks and converters are asked by exchanges of
 * our own (`exchange-pool.ts`), extension API servers through undici, which passes on whatever clients ask for
 * ([0017](../../../docs/decisions/0017-webhook-exchanges.md)).
 *
 * Always true: a connection is made only to whom a configuration names, is verified against the authority that
 * configuration gives (or the system's), and follows no redirect and no proxy. A Service is resolved anew for each
 * connection. How many requests wait for a connection is bounded by those who call: each request of a client holds a
 * seat while it waits. Closing breaks every connection.
 */
import type { Dispatcher, Pool } from 'undici';
import { RequestNotice } from '../request/abort-notice.ts';
import type { CallTarget } from './call-target.ts';
import { Dialler } from './dialler.ts';
import { ExchangePool } from './exchange-pool.ts';
import type { ResolveService } from './service-resolver.ts';
import { TargetPools } from './target-pools.ts';

const CONNECTIONS_PER_POOL = 100;
const KEEP_ALIVE_MS = 90_000;

export class OutboundConnections {
  readonly #resolve: ResolveService;
  readonly #exchanges = new TargetPools<ExchangePool>();
  readonly #pools = new TargetPools<Pool>();
  readonly #closing = new RequestNotice();

  constructor(resolve: ResolveService) {
    this.#resolve = resolve;
  }

  /** Whatever is run on it is to be run at once. */
  exchangesWith(target: CallTarget): ExchangePool {
    const known = this.#exchanges.get(target);
    if (known) return known;
    this.#closing.throwIfAborted();
    const dialler = new Dialler(target, this.#resolve);
    return this.#exchanges.add(target, new ExchangePool((signal) => dialler.open(signal)));
  }

  async poolOf(target: CallTarget): Promise<Dispatcher> {
    const known = this.#pools.get(target);
    if (known) return known;
    const { Pool } = await loadHttp();
    this.#closing.throwIfAborted();
    const made = this.#pools.get(target); // by another call, meanwhile
    if (made) return made;
    const dialler = new Dialler(target, this.#resolve);
    const pool = new Pool(target.origin, {
      connections: CONNECTIONS_PER_POOL,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_asked, done) => {
        dialler.open(this.#closing).then(
          (socket) => done(null, socket),
          (err: Error) => done(err, null),
        );
      },
    });
    return this.#pools.add(target, pool);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the connections are closed'));
    await Promise.all([this.#exchanges.destroy(), this.#pools.destroy()]);
  }
}

let http: Promise<typeof import('undici')> | undefined;

/** Loaded with the first call: most servers never make one. */
function loadHttp(): Promise<typeof import('undici')> {
  http ??= import('undici');
  return http;
}
