/**
 * How much the store may hold. What counts is the space in use, not the size of the file, so that compaction alone
 * makes room again; and a disk that is nearly full counts as a full store, unless what is wanted fits into pages of the file
 * that are free.
 *
 * Past the quota a transaction that puts, and a new lease, are refused with NoSpace; reads, deletes and compaction
 * go on. The figures are asked for anew after every few megabytes; what was written since is added to them. Once the disk has
 * refused a commit, a nearly full disk lets nothing through before the file has more free pages than it had then.
 */
import { statfsSync } from 'node:fs';
import { StoreError } from '../errors.ts';
import type { Op, Txn } from '../kv.ts';
import type { LogEngine } from './engine/engine.ts';

/** What a change costs beside its key and value. */
const CHANGE_BYTES = 256;
const REFRESH_BYTES = 4 * 1024 * 1024;
/** A commit writes pages anew that it changes, and takes free ones for that; big values need several in a row. */
const SPARE_BYTES = 1024 * 1024;

export type QuotaOptions = { readonly quotaBytes: number; readonly reserveBytes: number };

export class Quota {
  readonly #engine: LogEngine;
  readonly #dataDir: string;
  readonly #options: QuotaOptions;
  /** Accepted, but not yet on disk. */
  readonly #pendingBytes: () => number;
  #usedBytes = 0;
  /** Of the disk, and inside the file. */
  #freeBytes = 0;
  #spareBytes = 0;
  #writtenBytes = 0;
  /** What was free when the disk refused a commit. */
  #refusal: { readonly spareBytes: number; readonly freeBytes: number } | undefined;

  constructor(engine: LogEngine, dataDir: string, options: QuotaOptions, pendingBytes: () => number) {
    this.#pendingBytes = pendingBytes;
    this.#engine = engine;
    this.#dataDir = dataDir;
    this.#options = options;
    this.refresh();
  }

  /** Of the disk, when it was last looked at. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  refresh(): void {
    const { fileBytes, usedBytes } = this.#engine.size();
    this.#usedBytes = usedBytes;
    this.#spareBytes = Math.max(0, fileBytes - usedBytes);
    this.#writtenBytes = 0;
    try {
      const { bavail, bsize } = statfsSync(this.#dataDir);
      this.#freeBytes = bavail * bsize;
    } catch {
      this.#freeBytes = 0; // the folder is gone: the next commit finds out, and tells
    }
  }

  wrote(bytes: number): void {
    this.#refusal = undefined;
    this.#writtenBytes += bytes;
    if (this.#writtenBytes > REFRESH_BYTES) this.refresh();
  }

  /** The disk had no room for a commit. */
  refused(): void {
    this.refresh();
    this.#refusal = { spareBytes: this.#spareBytes, freeBytes: this.#freeBytes };
  }

  /** Throws NoSpace if the bigger branch would not fit. */
  check(txn: Txn): void {
    const bytes = costOfTxn(txn);
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
    const refusal = this.#refusal;
    const isStill =
      refusal && this.#freeBytes < refusal.freeBytes + SPARE_BYTES && this.#spareBytes <= refusal.spareBytes;
    return this.#problem(CHANGE_BYTES) ?? (isStill ? 'the disk had no room for the last write' : undefined);
  }

  #problem(bytes: number): string | undefined {
    const { quotaBytes, reserveBytes } = this.#options;
    const wanted = this.#writtenBytes + this.#pendingBytes() + bytes;
    if (this.#usedBytes + wanted >= quotaBytes)
      return `${this.#usedBytes + this.#writtenBytes} of ${quotaBytes} bytes are in use; delete keys, compact, or raise the quota`;
    // Also where the disk refused it: a limit that it does not tell of may have been raised.
    if (this.#freeBytes - wanted >= reserveBytes) return undefined;
    const spareBytes = this.#spareBytes - (this.#refusal?.spareBytes ?? 0);
    if (spareBytes - wanted >= SPARE_BYTES) return undefined;
    return `${this.#freeBytes} bytes are left on the disk, ${reserveBytes} must stay free; make room on the disk, or delete keys and compact`;
  }
}

function costOfTxn(txn: Txn): number {
  return Math.max(costOf(txn.then ?? []), costOf(txn.else ?? []));
}

function costOf(ops: readonly Op[]): number {
  let bytes = 0;
  for (const op of ops) {
    if (op.kind === 'put') bytes += CHANGE_BYTES + op.key.length + op.value.length;
    else if (op.kind === 'txn') bytes += costOfTxn(op.txn);
  }
  return bytes;
}
