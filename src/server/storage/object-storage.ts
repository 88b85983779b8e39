/**
 * The contract of stored objects: all of one kind, in the version they are stored in. `direct-storage.ts` keeps it on
 * the store alone, `cacher/cacher.ts` with current objects and recent changes in memory; which of them a resource gets
 * is decided once, in `resources.ts`. The suite in test/contract/storage/ holds both to it, over both stores.
 *
 * Always true:
 * - A read is as new as its resourceVersion asks: `''` has everything acknowledged before the call, `'0'` is whatever is
 *   at hand, a number is that state or a newer one. A future that does not come in time is a 504.
 * - A list is one snapshot, in the order of keys.
 * - A write changes exactly the version it was prepared on, or changes nothing and says what is there instead.
 * - A watch writes every change after its start that its selection sees: once, in order. If it cannot, it says why.
 *
 * It fails with a StoreError, with the reason of a signal, or with the 504; `isExpired` tells the one that readers of
 * history must know.
 */
import type { KubeObject } from '../../api/index.ts';
import { isStoreError, type Revision } from '../../store/index.ts';
import type { StoreHistory } from '../../store/kv.ts';
import type { CpuAccount } from '../event-loop/run-queue.ts';
import type { ByteStream } from '../request/request-context.ts';
import type { StreamEnd } from '../request/stream-end.ts';
import type { EventEncoding } from './event-encoding.ts';
import type { ObjectWatch } from './object-watch.ts';
import type { ObjectCodec } from './objects/object-codec.ts';
import type { ObjectKeys } from './objects/object-keys.ts';
import type { Pin, Selection } from './objects/selection.ts';
import type { StoredObject } from './objects/stored-object.ts';

export type { Revision };

/** How long a read waits for a revision that has not come yet. */
export const WAIT_MS = 3000;

export interface ObjectStorage {
  readonly codec: ObjectCodec;
  readonly keys: ObjectKeys;
  /** Undefined where the store cannot tell one history from another. */
  readonly history: StoreHistory | undefined;
  /** The most that the store takes; undefined where only trying tells. */
  readonly maxObjectBytes: number | undefined;
  /** The same objects past any cache: what writes are prepared on. */
  readonly direct: ObjectStorage;
  /** How much there is, where that is known without looking: `uncounted` never, `filling` not yet. */
  readonly stats: ObjectStats | 'uncounted' | 'filling';

  /** The newest by default. */
  get(namespace: string, name: string, options?: GetOptions): Promise<StoredObject | undefined>;
  /**
   * What is at hand without waiting: as new as `resourceVersion` asks, or else it may be a moment behind. Undefined where
   * nothing is at hand; whether there is anything at all, `get` tells.
   */
  peek(namespace: string, name: string, resourceVersion?: string): StoredObject | undefined;
  list(request: ListRequest): Promise<ObjectList>;
  /** The same where it is at hand without waiting, and without looking at what has other values than the pinned ones. */
  peekList(request: Omit<ListRequest, 'signal'>): ObjectList | undefined;
  /** Resolves once the watch needs no more of the caller's time; it lives on until its client leaves or it is ended. */
  watch(request: WatchRequest): Promise<void>;

  /** Undefined: there is one of that name. Rejects with an OvertakenError where the guard does not hold. */
  create(object: KubeObject, guard?: WriteGuard): Promise<StoredObject | undefined>;
  /** What changes nothing is not written: then `stored` is `current`. */
  update(current: StoredObject, object: KubeObject, guard?: WriteGuard): Promise<{ stored: StoredObject } | Instead>;
  /** Answers the object as it was, under the revision of its deletion. */
  delete(current: StoredObject, guard?: WriteGuard): Promise<{ deleted: StoredObject } | Instead>;

  /**
   * Waits until what is at hand has everything acknowledged before the call; false if it does not within the time, or if
   * the store does not tell how far it is.
   */
  catchUp(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** Ends all watches, such as when what they were told of is not served any more. */
  endWatches(why: StreamEnd): void;
  close(): Promise<void>;
}

export type ObjectStats = { readonly count: number; readonly averageBytes: number };

export type GetOptions = {
  /** The newest by default. */
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal;
};

export type ListRequest = {
  /** `''` or `NAMESPACE/`. */
  readonly scope: string;
  /** The first object key that is wanted. */
  readonly start: string;
  /** At most so many. */
  readonly limit?: number | undefined;
  /** How new it must be, or exactly which state it must be: then it fails where that is compacted. */
  readonly at: { readonly resourceVersion: string } | { readonly revision: Revision };
  readonly signal: AbortSignal;
  /** Values that all that is wanted must have; what has others may be left out of what is found, and of its count. */
  readonly pinned?: readonly Pin[];
  /** While a cache is still being filled, whoever wants all of it is told to come again: reading it once more would not help. */
  readonly isPatient?: boolean;
};

/**
 * Objects in order, and how many there are from the first of them on in all; where values were pinned, how many of those, as
 * far as it is known: more than are here, if there may be more.
 */
export type ObjectRange = {
  readonly objects: readonly StoredObject[];
  readonly count: number;
  /** Of all of them together, where that is known. */
  readonly bytes?: number;
  /** What all of them have, found by an index. */
  readonly pin?: Pin;
};

/** The revision it is a snapshot of. */
export type ObjectList = ObjectRange & { readonly revision: Revision };

export type WatchRequest = {
  readonly selection: Selection;
  readonly encoding: EventEncoding;
  /** Changes after it are sent; none or zero: those after now. */
  readonly resourceVersion: string;
  /** Whether it begins with all that is there, which is then not older than `resourceVersion` asks. */
  readonly sendsInitialEvents: boolean;
  readonly allowsBookmarks: boolean;
  readonly client: WatchClient;
  /** Told before anything is written. */
  readonly onOpen: (watch: ObjectWatch) => void;
};

export type WatchClient = {
  /** Who is charged for what the watch takes until it is live. */
  readonly account?: CpuAccount | undefined;
  /** Asked for only if somebody waits: most watches never need one, and would keep it as long as they live. */
  readonly signal: AbortSignal;
  stream(contentType: string): ByteStream;
  /** Everything that was there at the start is on its way. */
  initialised(): void;
};

/** What else must be true for a write to happen: none of these keys exists, or none was written after a revision. */
export type WriteGuard =
  | { readonly whileNone: ObjectKeys }
  | { readonly unchanged: ObjectKeys; readonly since: Revision };

/** What a create was prepared on has changed since: nothing was written, and it may be prepared anew. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';

  constructor() {
    super('The objects that this write was prepared on have changed: prepare it again');
  }
}

/** Nothing was written: this is there, or nothing. */
export type Instead = { readonly instead: StoredObject | undefined };

/** Whether what was asked for is no longer known: its history is compacted. */
export function isExpired(err: unknown): boolean {
  return isStoreError(err, 'Compacted');
}

/** Whether a resourceVersion names a state, and not just how new one must be. */
export function isNumbered(resourceVersion: string): boolean {
  return Number(resourceVersion) !== 0;
}

/** The keys that a selection can be found under begin with this. */
export function scopeOf({ namespace }: Selection): string {
  return namespace === '' ? '' : `${namespace}/`;
}
