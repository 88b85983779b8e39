/**
 * The two errors a reconcile is ended by on purpose. By name, not `instanceof`: two installed copies must still agree.
 */

/** Thrown by a handler: trying again would not help. The key comes back when it is added anew. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** The reason of a handler's signal when its time is up. */
export class ReconcileTimeoutError extends Error {
  override readonly name = 'ReconcileTimeoutError';
  readonly timeoutMs: number;
  constructor(timeoutMs: number) {
    super(`Cannot go on with this reconcile: it took longer than ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** The reason of a handler's signal when the pool stops and the grace is over. */
export class PoolStoppedError extends Error {
  override readonly name = 'PoolStoppedError';
  constructor() {
    super('Cannot go on with this reconcile: the worker pool has stopped');
  }
}

export function isTerminalError(err: unknown): err is TerminalError {
  return err instanceof Error && err.name === 'TerminalError';
}
