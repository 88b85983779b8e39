/**
 * The members of one etcd cluster as one peer: picks a member that can be reached, keeps the connection, goes to the
 * next when it fails, and tries calls again where that is safe.
 *
 * Always true: a read is tried again on Unavailable, with growing pauses, until its time is up. A write is tried again
 * only if it cannot have been sent; otherwise its first failure is its last. Connections of one channel are shared by
 * its calls only, so channels keep kinds of traffic out of each other's way.
 *
 * It fails with a GrpcError, with the caller's `signal.reason`, or with Closed once it was closed.
 */
import type { Clock } from '../../../api/index.ts';
import { StoreError } from '../../errors.ts';
import { backoffMs } from './backoff.ts';
import { callUnary } from './call.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { Endpoint } from './endpoint.ts';
import { GrpcError, grpcCode } from './grpc-status.ts';
import { onAbort } from './on-abort.ts';

export type ChannelOptions = ConnectionOptions & {
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  /** Told why, each time before a call is tried again. */
  readonly onRetry?: ((error: Error) => void) | undefined;
};

export type ChannelCall = {
  readonly method: string;
  readonly request: Uint8Array;
  /** Whether asking twice does no harm. */
  readonly isRead: boolean;
  /** For all attempts together; Infinity means as long as the connection lives. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
};

type Dial = ReturnType<typeof Connection.dial>;
const retryCeilingMs = 1000;

export class Channel {
  readonly #options: ChannelOptions;
  readonly #connections = new Map<number, Connection>();
  readonly #dials = new Map<number, Dial>();
  /** Draining after GOAWAY, or otherwise replaced: kept only to be destroyed on close. */
  readonly #retired = new Set<Connection>();
  readonly #sleepers = new Set<AbortController>();
  #current = 0;
  #isClosed = false;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  async call({ method, request, isRead, timeoutMs, signal }: ChannelCall): Promise<Buffer> {
    const { clock } = this.#options;
    const startedMs = clock.now();
    const remainingMs = () => startedMs + timeoutMs - clock.now();
    for (let failures = 0; ; failures++) {
      try {
        const connection = await this.connect(signal);
        const left = remainingMs();
        const attempt = { signal, ...(left === Number.POSITIVE_INFINITY ? {} : { timeoutMs: Math.max(1, left) }) };
        return await callUnary(connection, method, request, attempt);
      } catch (err) {
        if (!(err instanceof GrpcError)) throw err;
        this.#throwIfClosed(err);
        this.avoid(err);
        const pauseMs = backoffMs(failures, retryCeilingMs);
        const isSafe = isRead || !err.wasSent;
        if (err.code !== grpcCode.unavailable || !isSafe || pauseMs >= remainingMs()) throw err;
        this.#options.onRetry?.(err);
        await this.sleep(pauseMs, signal);
      }
    }
  }

  /** A connection to a member, the one in use if it lives; tries each member once. */
  async connect(signal: AbortSignal | undefined): Promise<Connection> {
    const { endpoints } = this.#options;
    const failures: GrpcError[] = [];
    for (let i = 0; i < endpoints.length; i++) {
      this.#throwIfClosed();
      signal?.throwIfAborted();
      const index = this.#current;
      const connection = this.#connections.get(index);
      if (connection?.isUsable) return connection;
      try {
        return await abortable(this.#dial(index).ready, signal);
      } catch (err) {
        if (!(err instanceof GrpcError)) throw err;
        this.#throwIfClosed(err);
        failures.push(err);
        this.#leave(index);
      }
    }
    const [first] = failures;
    if (failures.length === 1 && first) throw first;
    const found = failures.map((err) => err.message).join('; ');
    const options = { wasSent: false, endpoint: first?.endpoint ?? '', cause: first };
    throw new GrpcError(grpcCode.unavailable, found, options);
  }

  /** Lets the next call go to another member, if this error says that the one asked is in trouble. */
  avoid(err: GrpcError): void {
    if (err.code !== grpcCode.unavailable && err.code !== grpcCode.deadlineExceeded) return;
    this.#leave(this.#options.endpoints.findIndex(({ authority }) => authority === err.endpoint));
  }

  /** Like `clock.sleep`, and ends with Closed when the channel closes. */
  async sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    this.#throwIfClosed();
    const sleeper = new AbortController();
    const stop = () => sleeper.abort(signal?.reason);
    if (signal?.aborted) stop();
    const unlisten = onAbort(signal, stop);
    this.#sleepers.add(sleeper);
    try {
      await this.#options.clock.sleep(ms, sleeper.signal);
    } finally {
      this.#sleepers.delete(sleeper);
      unlisten();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const sleeper of this.#sleepers) sleeper.abort(closedError());
    for (const dial of this.#dials.values()) dial.abandon();
    for (const connection of [...this.#connections.values(), ...this.#retired])
      connection.destroy('the store was closed');
    this.#connections.clear();
    this.#retired.clear();
  }

  /** Callers that come while a member is being dialled wait for the same dial. */
  #dial(index: number): Dial {
    const pending = this.#dials.get(index);
    if (pending) return pending;
    const dial = Connection.dial(this.#options.endpoints[index]!, this.#options);
    this.#dials.set(index, dial);
    dial.ready.then(
      (connection) => {
        this.#dials.delete(index);
        this.#retire(index);
        if (this.#isClosed) connection.destroy('the store was closed');
        else this.#connections.set(index, connection);
      },
      () => void this.#dials.delete(index),
    );
    return dial;
  }

  #retire(index: number): void {
    for (const old of this.#retired) if (old.isGone) this.#retired.delete(old);
    const previous = this.#connections.get(index);
    if (previous && !previous.isGone) this.#retired.add(previous);
  }

  #leave(index: number): void {
    if (index === this.#current) this.#current = (index + 1) % this.#options.endpoints.length;
  }

  #throwIfClosed(cause?: unknown): void {
    if (this.#isClosed) throw closedError(cause);
  }
}

function closedError(cause?: unknown): StoreError {
  return new StoreError('Closed', 'Cannot use the etcd store: it was closed', { cause });
}

/** The promise, unless the signal fires first; no listener stays behind on the signal. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const unlisten = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(unlisten);
  });
}
