/**
 * The kept revisions of one object, as they are shown: what each changed, when, and who it was. An object at a time, with
 * others' turns in between: what is large takes long to read and to compare.
 */
import { type JsonObject, rfc3339 } from '../../../api/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { Rest } from '../../rest/rest.ts';
import { Cacher } from '../../storage/cacher/cacher.ts';
import {
  type HistoryBounds,
  type ObjectChange,
  readHistory,
  type StoredPlace,
} from '../../storage/direct/object-history.ts';
import { objectKey } from '../../storage/objects/object-keys.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { changedFields } from './changed-fields.ts';
import { latestManager } from './latest-manager.ts';

const MAX_CHANGED = 50;

export type ShownRevision = {
  readonly revision: number;
  readonly change: 'Created' | 'Updated' | 'Deleted' | 'Kept';
  readonly time?: string;
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly user?: string;
  readonly changed: string[];
  readonly changedCount: number;
  readonly bytes: number;
};

export type KeptRevisions = {
  /** The newest first. */
  readonly shown: readonly ShownRevision[];
  readonly bounds: HistoryBounds;
  /** The last of them is a creation, and none was left out. */
  readonly isComplete: boolean;
};

export async function keptRevisions(
  rest: Rest,
  served: ResourceStorage,
  place: StoredPlace,
  limit: number,
  signal: AbortSignal,
): Promise<KeptRevisions> {
  const describer = new Describer(rest, served, place, signal);
  let newer: ShownRevision[] = [];
  const older: ShownRevision[] = [];
  let isCut = false;
  const bounds = await readHistory(
    place,
    {
      async newer(change) {
        newer.push(await describer.describe(change));
        if (newer.length < 2 * limit) return;
        newer = newer.slice(-limit);
        isCut = true;
      },
      async older(change) {
        const hasRoom = newer.length + older.length < limit;
        if (hasRoom) older.push(await describer.describe(change));
        else isCut = true;
        return hasRoom;
      },
    },
    signal,
  );
  if (newer.length > limit) isCut = true;
  const shown = [...newer.slice(-limit).reverse(), ...older];
  return { shown, bounds, isComplete: !isCut && shown[shown.length - 1]?.change === 'Created' };
}

class Describer {
  readonly #rest: Rest;
  readonly #served: ResourceStorage;
  readonly #signal: AbortSignal;
  readonly #ages: ReadonlyMap<number, number>;
  /** One change ends where the next begins. */
  #last: { readonly revision: number; readonly object: JsonObject } | undefined;

  constructor(rest: Rest, served: ResourceStorage, { namespace, name }: StoredPlace, signal: AbortSignal) {
    this.#rest = rest;
    this.#served = served;
    this.#signal = signal;
    const { objects } = served;
    this.#ages = objects instanceof Cacher ? objects.agesOf(objectKey(namespace, name)) : new Map();
  }

  async describe({ revision, current, previous, isFirstKept }: ObjectChange): Promise<ShownRevision> {
    const slices = new WorkSlices(this.#signal);
    const before = previous && this.#read(previous);
    if (slices.isOver) await slices.pause();
    const now = current && this.#read(current);
    if (slices.isOver) await slices.pause();
    const isUpdate = now !== undefined && before !== undefined;
    const { changes, count } = isUpdate
      ? await slices.run(changedFields(before, now, MAX_CHANGED))
      : { changes: [], count: 0 };
    const manager = now && latestManager(before, now);
    const ageMs = this.#ages.get(revision);
    const time = ageMs !== undefined ? rfc3339(Date.now() - ageMs) : manager?.time;
    const user = this.#rest.writers.of(revision);
    return {
      revision,
      change: !current ? 'Deleted' : isFirstKept ? 'Kept' : before ? 'Updated' : 'Created',
      ...(time !== undefined && { time }),
      ...(manager && { manager: manager.manager, operation: manager.operation }),
      ...(manager?.subresource !== undefined && { subresource: manager.subresource }),
      ...(user !== undefined && { user }),
      changed: changes.map(({ path }) => path),
      changedCount: count,
      bytes: (current ?? previous)?.bytes.length ?? 0,
    };
  }

  #read(stored: StoredObject): JsonObject {
    if (this.#last?.revision === stored.revision) return this.#last.object;
    const object = this.#served.toObject(stored) as unknown as JsonObject;
    this.#last = { revision: stored.revision, object };
    return object;
  }
}
