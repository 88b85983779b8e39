/**
 * Where a cacher has its objects from: the store itself (store-reflector.ts), or the thread that has read it already
 * (feed/feed-reflector.ts), whose cacher tells it all of this as its follower. First the state comes and then every batch of
 * changes, each in one turn.
 *
 * Always true: no change falls between the state and the batches after it. A source that has lost its place brings a new
 * state; until then the cacher keeps the old one.
 */
import type { Revision } from '../../../store/index.ts';
import type { ObjectEvent } from '../objects/object-event.ts';
import type { Slab } from '../objects/slab.ts';
import type { StoredObject } from '../objects/stored-object.ts';

/** `current` undefined: it is gone, or is no object. */
export type ObjectChange = {
  readonly key: string;
  readonly revision: Revision;
  readonly current: StoredObject | undefined;
  /** Where the bytes of what it was before lie from now on, if another thread has moved them. */
  readonly previousBytes?: Buffer | undefined;
};

export type SourceTarget = {
  /** False before the first state: that one is best kept side by side in memory. */
  isReady(): boolean;
  /** All there is at a revision, by object key, in order; packed by another thread, which goes on packing it. */
  replace(found: ReadonlyMap<string, StoredObject>, revision: Revision, isPackedElsewhere: boolean): void;
  apply(changes: readonly ObjectChange[], revision: Revision): void;
  /** Other bytes that move when this object changes. */
  packedBytes(key: string): number;
  /** The object is in a slab now, if that is still the revision it has. */
  move(key: string, revision: Revision, slab: Slab, place: Buffer): void;
};

export interface ObjectSource {
  /** See Watch. */
  requestProgress(): void;
  readonly answersProgress: boolean | undefined;
  close(): Promise<void>;
}

/** Who has the same objects in another thread: told of everything that happens here, in the turn in which it does. */
export interface CacheFollower {
  /** All there is was read anew. */
  replaced(): void;
  /** `moved`: which of them have moved the bytes of what was before. */
  published(events: readonly ObjectEvent[], moved: readonly boolean[], revision: Revision): void;
  packed(slab: Slab, objects: readonly StoredObject[]): void;
  closed(): void;
}
