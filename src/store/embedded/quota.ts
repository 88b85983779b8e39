/**
 * How much the store may hold. What counts is the space in use, not the size of the file, so that compaction alone
 * makes room again; and a disk that is nearly full counts as a full store, while it can still say so in good order.
 *
 * Past the quota a transaction that puts, and a new lease, are refused with NoSpace; reads, deletes and compaction
 * go on. The figures are asked for anew after every few megabytes; what was written since is added to them.
 */
import { statfsSync } from 'node:fs';
import { StoreError } from '../errors.ts';
import type { Op, Txn } from '../kv.ts';
import type { LogEngine } from './engine.ts';

/** What a change costs beside its key and value. */
const CHANGE_BYTES = 256;
const REFRESH_BYTES = 4 * 1024 * 1024;

export type QuotaOptions = { readonly quotaBytes: number; readonly reserveBytes: number };

export class Quota {
  readonly #engine: LogEngine;
  readonly #dataDir: string;
  readonly #options: QuotaOptions;
  /** Accepted, but not yet on disk. */
  readonly #pendingBytes: () => number;
  #usedBytes = 0;
  #freeBytes = 0;
  #writtenBytes = 0;

  constructor(engine: LogEngine, dataDir: string, options: QuotaOptions, pendingBytes: () => number) {
    this.#pendingBytes = pendingBytes;
    this.#engine = engine;
    this.#dataDir = dataDir;
    this.#options = options;
    this.refresh();
  }

  refresh(): void {
    this.#usedBytes = this.#engine.size().usedBytes;
    const { bavail, bsize } = statfsSync(this.#dataDir);
    this.#freeBytes = bavail * bsize;
    this.#writtenBytes = 0;
  }

  wrote(bytes: number): void {
    this.#writtenBytes += bytes;
    if (this.#writtenBytes > REFRESH_BYTES) this.refresh();
  }

  /** Throws NoSpace if the bigger branch would not fit. */
  check(txn: Txn): void {
    const bytes = Math.max(costOf(txn.then ?? []), costOf(txn.else ?? []));
    if (bytes > 0) this.checkBytes(bytes);
  }

  checkBytes(bytes: number): void {
    if (this.#problem(bytes) === undefined) return;
    this.refresh(); // compaction may have made room since
    const problem = this.#problem(bytes);
    if (problem !== undefined) throw new StoreError('NoSpace', `Cannot write: ${problem}`);
  }

  /** A sentence when the store is full. */
  problem(): string | undefined {
    return this.#problem(CHANGE_BYTES);
  }

  #problem(bytes: number): string | undefined {
    const { quotaBytes, reserveBytes } = this.#options;
    const wanted = this.#writtenBytes + this.#pendingBytes() + bytes;
    if (this.#usedBytes + wanted >= quotaBytes)
      return `${this.#usedBytes + this.#writtenBytes} of ${quotaBytes} bytes are in use; delete keys, compact, or raise the quota`;
    if (this.#freeBytes - wanted < reserveBytes)
      return `${this.#freeBytes} bytes are left on the disk, ${reserveBytes} must stay free`;
    return undefined;
  }
}

function costOf(ops: readonly Op[]): number {
  let bytes = 0;
  for (const op of ops) if (op.kind === 'put') bytes += CHANGE_BYTES + op.key.length + op.value.length;
  return bytes;
}
