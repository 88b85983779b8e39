/**
 * The way of every change to the disk: group commit, one commit at a time.
 *
 *   add() → gathering group → (commit in flight) → publish() → the group's `done` resolves
 *
 * Always true: groups are committed and published in the order in which their changes were added; everything that
 * is added while a commit is in flight goes into the next group, so a flush serves all who wait, and no timer holds
 * up a lone write. What waits is bounded: past `maxPendingBytes` an add is refused with TooManyRequests.
 * Compaction's removals ride along in small portions. What must have the engine to itself (`alone`) takes the place of a
 * commit in the same row.
 *
 * A commit that is refused with NoSpace never was: it and everything that waits behind it, which rests on it, rejects, and
 * the next one may go. Any other failure is final: after a failed flush nobody knows what is on disk. Everything that waits
 * then, and all that comes later, rejects; only opening the store again tells the truth.
 */
import { isStoreError, StoreError } from '../errors.ts';
import type { LeaseId, Revision } from '../kv.ts';
import type { LogEngine, LogPosition, MetaName } from './engine/engine.ts';
import type { Change } from './state/head.ts';

/** What one caller wants committed, all of it together. */
export type Work = {
  readonly changes?: readonly Change[];
  readonly meta?: readonly [MetaName, number];
  readonly lease?: readonly [LeaseId, number | undefined];
};

/** A portion of what compaction removes; `finished` is set in the last one. */
export type Removal = { readonly remove: readonly LogPosition[]; readonly finished: Revision | undefined };

export type RemovalSource = {
  /** The next portion, at most `limit` records; undefined when there is nothing to do. */
  take(limit: number): Removal | undefined;
  /** It is gone from the disk. */
  committed(removal: Removal): void;
};

export type PipelineOptions = {
  readonly engine: Pick<LogEngine, 'commit'>;
  /** Makes the changes of a commit visible, once they are durable. Must not throw. */
  readonly publish: (changes: readonly Change[]) => void;
  readonly compaction: RemovalSource;
  readonly onFailure: (error: StoreError) => void;
  /** There was no room: all that was added and is not published is given up. */
  readonly onRefusal?: () => void;
  readonly maxPendingBytes: number;
};

type Group = {
  /** In place of a commit. */
  readonly alone?: () => Promise<void>;
  readonly changes: Change[];
  readonly meta: Map<MetaName, number>;
  readonly leases: Map<LeaseId, number | undefined>;
  bytes: number;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (err: unknown) => void;
};

/** More than this in one group would hold the event loop, or a watcher's socket, for too long when it is published. */
const MAX_GROUP_CHANGES = 1024;
const MAX_GROUP_BYTES = 8 * 1024 * 1024;
/** A commit with more of these would be felt by the writes that share it. */
const MAX_REMOVALS = 150;
/** Where there is no room: each may need a page of its own, before it frees any. */
const MAX_REMOVALS_WHEN_FULL = 15;

export class WritePipeline {
  readonly #options: PipelineOptions;
  /** The last one gathers; the first is the next to go. */
  readonly #groups: Group[] = [];
  #inFlight: Group | undefined;
  #pendingBytes = 0;
  #isRunning = false;
  #failure: StoreError | undefined;
  /** What the disk refused to have removed: compaction has forgotten it, so it is kept here. */
  #putBack: Removal | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Refuses with TooManyRequests when too much waits already; asked before a change touches the head. */
  checkRoom(): void {
    if (this.#failure) throw this.#failure;
    if (this.#pendingBytes > this.#options.maxPendingBytes)
      throw new StoreError('TooManyRequests', `Cannot take more writes: ${this.#pendingBytes} bytes wait for the disk`);
  }

  /** Resolves when the work is durable and published. */
  add({ changes = [], meta, lease }: Work): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    let group = this.#groups[this.#groups.length - 1];
    if (!group || group.alone || group.changes.length >= MAX_GROUP_CHANGES || group.bytes >= MAX_GROUP_BYTES) {
      group = newGroup();
      this.#groups.push(group);
    }
    let bytes = 0;
    for (const change of changes) {
      group.changes.push(change);
      bytes += change.record.length;
    }
    group.bytes += bytes;
    this.#pendingBytes += bytes;
    if (meta) group.meta.set(...meta);
    if (lease) group.leases.set(...lease);
    this.wake();
    return group.done;
  }

  /** Runs `work` after everything added so far, while no commit is under way. */
  alone(work: () => Promise<void>): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const group = { ...newGroup(), alone: work };
    this.#groups.push(group);
    this.wake();
    return group.done;
  }

  /** Resolves when everything added so far is durable; undefined if it is already. */
  settled(): Promise<void> | undefined {
    return this.#groups[this.#groups.length - 1]?.done ?? this.#inFlight?.done;
  }

  /** Resolves when no commit is in flight. */
  async idle(): Promise<void> {
    while (this.#inFlight) await this.#inFlight.done.catch(() => {});
  }

  /** There may be something to commit. */
  wake(): void {
    if (this.#isRunning || this.#failure) return;
    this.#isRunning = true;
    // Not at once: whatever the caller does in this turn still gets into the same commit.
    queueMicrotask(() => void this.#run());
  }

  /** Ends it: what waits and what comes is refused with this error. */
  fail(error: StoreError): void {
    if (this.#failure) return;
    this.#failure = error;
    for (const group of this.#groups.splice(0)) group.reject(error);
    this.#pendingBytes = 0;
  }

  async #run(): Promise<void> {
    const { engine, publish, compaction } = this.#options;
    while (!this.#failure) {
      const removal = this.#groups[0]?.alone ? undefined : this.#takeRemoval();
      const group = this.#groups.shift() ?? (removal && newGroup());
      if (!group) break;
      this.#inFlight = group;
      if (removal?.finished !== undefined) group.meta.set('compact.finished', removal.finished);
      const { changes, meta, leases } = group;
      try {
        if (group.alone) await group.alone();
        else await engine.commit({ append: changes.map(toLogEntry), remove: removal?.remove ?? [], meta, leases });
      } catch (err) {
        if (removal) this.#keep(removal);
        if (isStoreError(err, 'NoSpace')) this.#refuse(group, err);
        else this.#end(group, err as Error);
        break;
      }
      this.#inFlight = undefined;
      this.#pendingBytes -= group.bytes;
      publish(changes);
      if (removal) compaction.committed(removal);
      group.resolve();
    }
    this.#inFlight = undefined;
    this.#isRunning = false;
    if (this.#groups.length > 0) this.wake();
  }

  /** The next portion of what is to go; what was refused before comes first, in smaller ones. */
  #takeRemoval(): Removal | undefined {
    if (!this.#putBack) return this.#options.compaction.take(MAX_REMOVALS);
    const { remove, finished } = this.#putBack;
    const rest = remove.slice(MAX_REMOVALS_WHEN_FULL);
    this.#putBack = rest.length > 0 ? { remove: rest, finished } : undefined;
    return { remove: remove.slice(0, MAX_REMOVALS_WHEN_FULL), finished: rest.length > 0 ? undefined : finished };
  }

  #keep({ remove, finished }: Removal): void {
    const rest = this.#putBack;
    this.#putBack = { remove: [...remove, ...(rest?.remove ?? [])], finished: rest ? rest.finished : finished };
  }

  #refuse(group: Group, error: StoreError): void {
    this.#pendingBytes = 0;
    this.#options.onRefusal?.();
    for (const one of [group, ...this.#groups.splice(0)]) one.reject(error);
  }

  #end(group: Group, err: Error): void {
    const error = new StoreError('Closed', `Cannot go on: ${err.message}; open the store again`, { cause: err });
    this.fail(error);
    group.reject(
      new StoreError('OutcomeUnknown', `Cannot tell whether the write happened: ${error.message}`, { cause: err }),
    );
    this.#options.onFailure(error);
  }
}

function newGroup(): Group {
  let resolve!: () => void;
  let reject!: (err: unknown) => void;
  const done = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  done.catch(() => {}); // a group that only removes records has nobody who waits for it
  return { changes: [], meta: new Map(), leases: new Map(), bytes: 0, done, resolve, reject };
}

function toLogEntry({ version, record }: Change): { revision: Revision; sub: number; record: Buffer } {
  return { revision: version.modRevision, sub: version.sub, record };
}
