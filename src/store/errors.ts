/**
 * What a store answers when the world says no. Callers branch on `code` and nothing else; each code has a row in
 * docs/errors.md.
 */
import type { Revision } from './kv.ts';

export type StoreErrorCode =
  | 'Compacted'
  | 'FutureRevision'
  | 'NoSpace'
  | 'Closed'
  | 'InvalidArgument'
  | 'TooManyRequests'
  | 'KeyNotFound'
  | 'LeaseNotFound'
  | 'LeaseExists'
  | 'Unavailable'
  | 'OutcomeUnknown'
  | 'Locked'
  | 'ReadOnly'
  | 'Corrupt'
  | 'UnsupportedFormat';

export type StoreErrorOptions = ErrorOptions & { compactRevision?: Revision; currentRevision?: Revision };

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** With Compacted: the oldest revision that can still be read, where the backend tells (etcd does for watches only). */
  readonly compactRevision: Revision | undefined;
  /** With FutureRevision: the revision the store is at, where the backend tells. */
  readonly currentRevision: Revision | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.compactRevision = options.compactRevision;
    this.currentRevision = options.currentRevision;
  }
}

/** By name and code, not `instanceof`: two installed copies must still agree. */
export function isStoreError(err: unknown, code?: StoreErrorCode): err is StoreError {
  return err instanceof Error && err.name === 'StoreError' && (!code || (err as StoreError).code === code);
}
