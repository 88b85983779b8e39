/**
 * The kept connections to one target, and the exchanges that go over them: so many connections at most, one exchange at a
 * time on each, the one used last taken first. An exchange for which there is none waits for one of its own to be made or
 * for another's to become free, whichever comes first; if its own cannot be made it fails.
 *
 * Always true: nothing is sent for an exchange that was given up. What was sent is sent once more at most, and only where it
 * met a connection that had served others and broke before a byte of the answer: the other side had closed it while nobody
 * asked, or died of the question. So that is done only for who says that it may be: whatever has no effect but its answer. Go's transport
 * does the same for requests that are known to bear it; of a POST it does not know that, and repeats it only if not a byte
 * was written.
 * A connection that is not used is closed after a while, and before the other side has said that it will.
 */
import { performance } from 'node:perf_hooks';
import type { TLSSocket } from 'node:tls';
import { leastOf } from '../../api/extremes.ts';
import { type AbortNotice, RequestNotice } from '../request/abort-notice.ts';
import { Connection, type ConnectionOwner, type Exchange } from './connection.ts';

const MOST_CONNECTIONS = 100;
const IDLE_MS = 90_000;
/** So long before the other side closes a connection it is not used any more. */
const SAFETY_MS = 1000;

/** Fails with the reason of the signal, or with what went wrong. */
export type OpenConnection = (signal: AbortNotice) => Promise<TLSSocket>;

export class ExchangePool {
  readonly #open: OpenConnection;
  readonly #mostConnections: number;
  readonly #stop = new RequestNotice();
  readonly #connections = new Set<Connection>();
  /** The one used last at the end. */
  readonly #idle: Connection[] = [];
  /** In the order in which they came. */
  readonly #waiting = new Set<Exchange>();
  /** For whom connections are being made; they may have been served by others meanwhile. */
  readonly #dialled = new Set<Exchange>();
  readonly #owner: ConnectionOwner = {
    freed: (connection) => this.#put(connection),
    gone: (connection) => this.#forget(connection),
    wasStale: (exchange) => {
      exchange.mayRepeat = false;
      this.#wait(exchange);
    },
  };
  #sweeping: NodeJS.Timeout | undefined;
  #whenUnused: (() => void) | undefined;

  constructor(
    open: OpenConnection,
    { mostConnections = MOST_CONNECTIONS }: { readonly mostConnections?: number } = {},
  ) {
    this.#open = open;
    this.#mostConnections = mostConnections;
  }

  run(exchange: Exchange): void {
    const idle = this.#takeIdle();
    if (idle) idle.begin(exchange, this.#connections.size - this.#idle.length === 1);
    else this.#wait(exchange);
  }

  /** Its connection is of no use to others: an answer may be on the way. */
  giveUp(exchange: Exchange): void {
    if (!this.#waiting.delete(exchange)) exchange.connection?.drop();
  }

  /** Nothing is run any more; resolves when what was begun has ended. */
  close(): Promise<void> {
    const unused = new Promise<void>((resolve) => {
      this.#whenUnused = resolve;
    });
    for (const one of [...this.#idle]) one.drop();
    this.#tellIfUnused();
    return unused;
  }

  /** Breaks everything; resolves when nothing is left. */
  async destroy(): Promise<void> {
    const why = new Error('the connections are closed');
    this.#stop.abort(why);
    clearTimeout(this.#sweeping);
    const waiting = [...this.#waiting];
    const connections = [...this.#connections];
    this.#waiting.clear();
    for (const one of waiting) one.done(why);
    for (const one of connections) one.breakOff(why);
    await Promise.all(connections.map((one) => one.closed()));
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const last = this.#idle.pop();
      if (!last || last.idleUntil > performance.now()) return last;
      last.drop();
    }
  }

  #wait(exchange: Exchange): void {
    const { aborted, reason } = this.#stop;
    if (aborted) {
      exchange.done(reason);
      return;
    }
    this.#waiting.add(exchange);
    if (this.#hasRoom) this.#dial(exchange);
  }

  get #hasRoom(): boolean {
    return this.#connections.size + this.#dialled.size < this.#mostConnections;
  }

  #dial(exchange: Exchange): void {
    this.#dialled.add(exchange);
    this.#open(this.#stop).then(
      (socket) => {
        this.#dialled.delete(exchange);
        const made = new Connection(socket, this.#owner);
        this.#connections.add(made);
        this.#put(made, exchange);
      },
      (error: unknown) => {
        this.#dialled.delete(exchange);
        if (this.#waiting.delete(exchange)) exchange.done(error);
        this.#dialNext();
      },
    );
  }

  /** For the first that waits without one being made for it. */
  #dialNext(): void {
    if (this.#waiting.size > 0 && this.#hasRoom)
      for (const exchange of this.#waiting)
        if (!this.#dialled.has(exchange)) {
          this.#dial(exchange);
          return;
        }
    this.#tellIfUnused();
  }

  /** Into the hands of the exchange that it was made for, of the first that waits, or of those that will come. */
  #put(connection: Connection, wanted?: Exchange): void {
    const next = wanted && this.#waiting.has(wanted) ? wanted : this.#waiting.values().next().value;
    if (next) {
      this.#waiting.delete(next);
      connection.begin(next, this.#connections.size === 1);
    } else this.#rest(connection);
  }

  #rest(connection: Connection): void {
    const { keptSeconds } = connection;
    const idleMs = keptSeconds === undefined ? IDLE_MS : Math.min(IDLE_MS, keptSeconds * 1000 - SAFETY_MS);
    if (this.#whenUnused || this.#stop.aborted) {
      connection.drop();
      return;
    }
    connection.idleUntil = performance.now() + idleMs;
    this.#idle.push(connection);
    this.#sweeping ??= setTimeout(() => this.#sweep(), idleMs).unref();
  }

  #forget(connection: Connection): void {
    this.#connections.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#dialNext();
  }

  #sweep(): void {
    this.#sweeping = undefined;
    const now = performance.now();
    for (const one of [...this.#idle]) if (one.idleUntil <= now) one.drop();
    if (this.#idle.length === 0) return;
    const nextMs = leastOf(this.#idle.map(({ idleUntil }) => idleUntil)) - now;
    this.#sweeping = setTimeout(() => this.#sweep(), nextMs).unref();
  }

  #tellIfUnused(): void {
    if (this.#connections.size + this.#dialled.size + this.#waiting.size === 0) this.#whenUnused?.();
  }
}
