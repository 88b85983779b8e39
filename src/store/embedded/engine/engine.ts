/**
 * What the embedded store asks of the thing that keeps bytes on disk, and nothing more, so that another engine could
 * take lmdb's place: an append-only log keyed by (revision, sub), a few named facts, and the leases.
 *
 * Always true: a commit is all or nothing, and durable once its promise resolves; nothing of it can be read before.
 * Commits are asked for one at a time. A commit that rejects leaves the engine in an unknown state: with DiskFullError it is
 * well again after `letGo`, and the seal tells what is on the disk; otherwise the store must be closed and opened again.
 */
import type { LeaseId, Revision } from '../../kv.ts';

/** Where a record lies: the change number `sub` of a revision. */
export type LogPosition = { readonly revision: Revision; readonly sub: number };

export type LogEntry = LogPosition & { readonly record: Buffer };

export type VisitLimits = { readonly records: number; readonly bytes: number };

/** A fact of the store itself, by name. */
export type MetaName = 'format' | 'compact.scheduled' | 'compact.finished';

export type EngineCommit = {
  /** In order, all above everything in the log. */
  readonly append: readonly LogEntry[];
  readonly remove: readonly LogPosition[];
  readonly meta: ReadonlyMap<MetaName, number>;
  /** The TTL in seconds of each lease to keep; undefined: to forget. */
  readonly leases: ReadonlyMap<LeaseId, number | undefined>;
  /** Takes the place of the one before. */
  readonly seal?: Buffer;
};

/** There was no room for a commit. */
export class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
}

export interface LogEngine {
  commit(commit: EngineCommit): Promise<void>;
  /** A copy of the record, in memory that `take` gives; undefined if it is not there. */
  read(position: LogPosition, take?: (bytes: number) => Buffer): Buffer | undefined;
  /** Records from a revision on, in order, until one of the limits is passed; never ends inside a revision. */
  scan(fromRevision: Revision, limitRecords: number, limitBytes: number): LogEntry[];
  /**
   * Shows records from a place on, in order, until one of the limits is passed, and answers where to go on; undefined
   * after the last one. A record is there only while it is shown: no copy is made.
   */
  visit(from: LogPosition, limits: VisitLimits, see: (entry: LogEntry) => void): LogPosition | undefined;
  meta(name: MetaName): number | undefined;
  leases(): Map<LeaseId, number>;
  /** As the last commit that had one left it. */
  seal(): Buffer | undefined;
  size(): { readonly fileBytes: number; readonly usedBytes: number };
  /** An estimate: how much of the file its own bookkeeping keeps in this process's memory. */
  readonly heldBytes?: number;
  /** Closes the file and opens it again: that memory is the system's. Nothing may be asked of it until it is done. */
  letGo?(): Promise<void>;
  /** Whether the file that is open is still the one under its name; what goes to any other is lost. */
  isInPlace?(): boolean;
  close(): Promise<void>;
}
