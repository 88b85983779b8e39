/**
 * The contract of the store: keys with values at revisions. Embedded, etcd and shared keep it, and the suite in
 * test/contract/ holds them to it.
 *
 * Always true:
 * - One counter, the revision. A fresh store is at 1. A transaction that changes anything takes exactly one new
 *   revision, whatever it changes; one that changes nothing takes none. Revisions never repeat and never go down.
 * - A write that was answered is durable. Nothing is ever shown to anybody that could still be lost.
 * - A read that starts after a write was answered sees it. A read at a revision is a snapshot of that revision.
 * - A watch delivers every change of its range from its first revision on: once, in order of revision, and never
 *   one revision in two batches. If it cannot (history compacted), it ends with an error that says so.
 * - Whatever waits takes an AbortSignal and then rejects with `signal.reason`; a write that was aborted on its way
 *   may still have happened.
 *
 * It fails with a StoreError (errors.ts) that the caller may branch on; anything else is a bug.
 */

/** A number that only grows, 1 in a fresh store. */
export type Revision = number;

/** 1 to 2^63-1; 0n means no lease. Ids do not fit a JS number. */
export type LeaseId = bigint;

/**
 * A key is a string of bytes: each character stands for one byte, U+0000 to U+00FF, so that the order of strings is
 * the order of bytes. ASCII text is a key as it is; for other text use `keyFromText`.
 */
export type Key = string;

/** One key, every key with a prefix, or every key from `start` up to but without `end` (without `end`: all from there). */
export type KeyRange = { readonly key: Key } | { readonly prefix: Key } | { readonly start: Key; readonly end?: Key };

export type KeyValue = {
  readonly key: Key;
  /** The caller may keep it but must not change it: others may see the same bytes. Empty when only keys were asked for. */
  readonly value: Uint8Array;
  /** The revision that made the key exist; a key deleted and put again gets a new one. */
  readonly createRevision: Revision;
  /** The revision of its last change. */
  readonly modRevision: Revision;
  /** 1 when created, one more with every put since. */
  readonly version: number;
  readonly lease: LeaseId;
};

export type CallOptions = { readonly signal?: AbortSignal };

export type ReadOptions = {
  /** Read as of this revision; now by default and with 0. Below the compaction: Compacted. Above now: FutureRevision. */
  readonly revision?: Revision;
};

export type RangeOptions = ReadOptions & {
  /** At most so many keys, the first in order; all by default and with 0. */
  readonly limit?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
  /** Where values are copied to; a store may use memory of its own instead. */
  readonly take?: (bytes: number) => Buffer;
  /** Told of the bytes of values, before this thread has them; what it throws ends the read. */
  readonly claim?: (bytes: number) => void;
};

export type GetResult = {
  /** The store's revision at the time of the answer, also when an older one was asked for. */
  readonly revision: Revision;
  readonly kv: KeyValue | undefined;
};

export type RangeResult = {
  /** The store's revision at the time of the answer, also when an older one was asked for. */
  readonly revision: Revision;
  /** In order of keys. */
  readonly kvs: readonly KeyValue[];
  /** All keys of the range at that revision, not reduced by `limit`. */
  readonly count: number;
  /** Whether `limit` cut keys off. */
  readonly more: boolean;
};

/**
 * A condition on every key of a range. Where there is no key at all, it is taken of a pair with 0 for all numbers; a
 * condition on `value` is then false, whatever it says.
 */
export type Compare = { readonly range: KeyRange; readonly is: '=' | '!=' | '<' | '>' } & (
  | { readonly target: 'modRevision' | 'createRevision' | 'version'; readonly than: number }
  | { readonly target: 'lease'; readonly than: LeaseId }
  | { readonly target: 'value'; readonly than: Uint8Array }
);

export type Op =
  | {
      readonly kind: 'put';
      readonly key: Key;
      readonly value: Uint8Array;
      readonly lease?: LeaseId;
      readonly prevKv?: boolean;
      /** Keeps the value that the key has, and takes none beside it; where there is no such key: KeyNotFound. */
      readonly ignoreValue?: boolean;
      /** The same for the lease. */
      readonly ignoreLease?: boolean;
    }
  | { readonly kind: 'delete'; readonly range: KeyRange; readonly prevKv?: boolean }
  | { readonly kind: 'range'; readonly range: KeyRange; readonly options?: RangeOptions }
  | { readonly kind: 'txn'; readonly txn: Txn };

/**
 * All compares hold: `then` runs, else `else`. Operations run in order and see the ones before them; a transaction among
 * them is part of this one, with its revision, and all compares are judged before the first operation. Refused with
 * InvalidArgument, whatever the state: more than 128 compares or operations in one list (within another transaction:
 * more than its longest list leaves of that number), more than 1.5 MiB, a key that may be changed twice by one branch,
 * but for a put before a delete in two transactions that it holds (txn-overlaps.ts; etcd itself overlooks a delete
 * without an end).
 */
export type Txn = {
  readonly compare?: readonly Compare[];
  readonly then?: readonly Op[];
  readonly else?: readonly Op[];
};

export type OpResult =
  | { readonly kind: 'put'; readonly prevKv: KeyValue | undefined }
  | { readonly kind: 'delete'; readonly deleted: number; readonly prevKvs: readonly KeyValue[] }
  | ({ readonly kind: 'range' } & RangeResult)
  | { readonly kind: 'txn'; readonly succeeded: boolean; readonly results: readonly OpResult[] };

export type TxnResult = {
  readonly succeeded: boolean;
  /** The revision the transaction took, or the store's revision if it changed nothing. */
  readonly revision: Revision;
  /** One per operation of the branch that ran. */
  readonly results: readonly OpResult[];
};

export type WatchOptions = CallOptions & {
  /** The first revision to deliver: in the past, now, or in the future. By default, and with 0, all after the call. */
  readonly fromRevision?: Revision;
  /** Attach to each event the pair as it was before, unless the key was not there or that history is compacted. */
  readonly prevKv?: boolean;
  /** Send progress from time to time while nothing matches. `requestProgress` works without it. */
  readonly progress?: boolean;
};

export type WatchEvent = {
  readonly type: 'put' | 'delete';
  /** Of a delete: the key, the revision of the delete as `modRevision`, zeros and no value otherwise. */
  readonly kv: KeyValue;
  readonly prevKv: KeyValue | undefined;
};

/**
 * Whole revisions, in order. After a batch nothing at or below its `revision` follows, so `revision + 1` is where to
 * resume. A batch without events is progress.
 */
export type WatchBatch = { readonly revision: Revision; readonly events: readonly WatchEvent[] };

/**
 * One reader's stream of batches. It costs a bounded amount of memory however slowly it is read; a reader that falls
 * behind continues from the log. It ends with Compacted when its history is gone, with Closed when the store closes,
 * with `signal.reason`, or quietly when the reader leaves.
 */
export interface Watch extends AsyncIterableIterator<WatchBatch>, AsyncDisposable {
  /** The revision after which this watch sees everything (`fromRevision - 1` if that was given), once it is certain. */
  started(): Promise<Revision>;
  /**
   * Asks for a batch that carries the store's revision now or later, once everything up to it has been delivered.
   * Best effort: while the watch is behind, or starts in the future, none may come. Ask again.
   */
  requestProgress(): void;
  /** False once it is known that the store behind it does not answer that, and sends progress only when it will. */
  readonly answersProgress?: boolean;
  return(): Promise<IteratorResult<WatchBatch>>;
  [Symbol.asyncIterator](): Watch;
}

export type Lease = { readonly id: LeaseId; readonly ttlSeconds: number };

export type LeaseInfo = {
  readonly id: LeaseId;
  readonly grantedTtlSeconds: number;
  /** Whole seconds, what is begun does not count. */
  readonly remainingSeconds: number;
  /** The keys that go with it, in order. */
  readonly keys: readonly Key[];
};

export type StoreStatus = {
  readonly backend: 'embedded' | 'etcd';
  /** Of the etcd server, or of the embedded store's format. */
  readonly version: string;
  readonly revision: Revision;
  /** Bytes on disk, and the part of them that holds data. */
  readonly sizeBytes: number;
  readonly sizeInUseBytes: number;
  /** Sentences, empty when all is well. */
  readonly problems: readonly string[];
  /** Where the backend tells: how many watches there are, and what compaction has done since the store was opened. */
  readonly watchers?: number;
  readonly compaction?: {
    readonly revision: Revision;
    /** 0: there was none. */
    readonly lastAtUnixSeconds: number;
    readonly totalSeconds: number;
  };
};

export type SnapshotInfo = { readonly revision: Revision | undefined; readonly bytes: number; readonly sha256: string };

/** Revisions are numbers, and a store that lost its data gives them out again: what was shown is told apart by this. */
export type StoreHistory = {
  /** To be given to whoever is shown a revision. */
  readonly name: string;
  /** Every name whose revisions the store holds still, and up to which one. */
  readonly ends: ReadonlyMap<string, Revision>;
  /** Whether a revision that was shown under this name is part of what the store holds now. */
  includes(name: string, revision: Revision): boolean;
};

export interface Store extends AsyncDisposable {
  /** Undefined where it cannot be told. */
  readonly history?: StoreHistory;
  /** How many bytes a transaction may put, keys and values together. Undefined where only trying tells. */
  readonly maxPutBytes?: number;
  get(key: Key, options?: ReadOptions & CallOptions): Promise<GetResult>;
  range(range: KeyRange, options?: RangeOptions & CallOptions): Promise<RangeResult>;
  txn(txn: Txn, options?: CallOptions): Promise<TxnResult>;
  watch(range: KeyRange, options?: WatchOptions): Watch;

  /** The store's revision: at least that of every write answered before the call. */
  revision(options?: CallOptions): Promise<Revision>;
  /** The same, where it is known without asking anybody; undefined where it is not, or the store is closed. */
  readonly knownRevision?: Revision | undefined;
  /** Before which revision nothing can be read, 0 if everything can; undefined where only asking tells, or the store is closed. */
  readonly knownCompaction?: Revision | undefined;
  /**
   * Forgets what was superseded at or below `revision`: reads and watches before it answer Compacted from then on.
   * Records are removed in the background; `physical` waits for that. Above now: FutureRevision. Not above the last
   * compaction: Compacted.
   */
  compact(revision: Revision, options?: { readonly physical?: boolean } & CallOptions): Promise<void>;

  /** A TTL below the store's minimum is raised to it. An id that is in use: LeaseExists. */
  grantLease(ttlSeconds: number, options?: { readonly id?: LeaseId } & CallOptions): Promise<Lease>;
  /** Starts the TTL anew and answers it; 0 if there is no such lease (any more). */
  keepLeaseAlive(id: LeaseId, options?: CallOptions): Promise<number>;
  /** Deletes its keys in one revision, and the lease. Unknown: LeaseNotFound. */
  revokeLease(id: LeaseId, options?: CallOptions): Promise<void>;
  /** Undefined if there is no such lease. With `keys: false` its keys are left out. */
  leaseInfo(id: LeaseId, options?: { readonly keys?: boolean } & CallOptions): Promise<LeaseInfo | undefined>;
  leases(options?: CallOptions): Promise<readonly LeaseId[]>;

  status(options?: CallOptions): Promise<StoreStatus>;
  /** Writes a consistent copy to `file`, which must not exist yet, while the store goes on. */
  snapshot(file: string, options?: CallOptions): Promise<SnapshotInfo>;
  /** Ends watches and waiting calls with Closed, and lets go of everything. */
  close(): Promise<void>;
}
