/**
 * The objects of one resource as they were at a revision: the present, and for every key that changed since what it was then.
 *
 *   present  a  b  c′ d  f        then  a  b  c  d  e         c changed, e was deleted, f came
 *
 * Always true: `learn` was told of every change since the revision, in order, so that to read a page takes as long as the
 * page and what changed within it, however many objects there are and however much has changed elsewhere.
 */
import type { ObjectRange, Revision } from '../../object-storage.ts';
import type { ObjectEvent } from '../../objects/object-event.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { OrderedMap } from './ordered-map.ts';

/** What is there now. */
export type Present = {
  values(prefix?: string, start?: string, limit?: number): readonly StoredObject[];
  count(prefix?: string, start?: string): number;
};

type Change = { readonly key: string; readonly then: StoredObject | undefined };

export class PastState {
  readonly revision: Revision;
  /** It knows of all changes up to here. */
  upTo: Revision;
  readonly #changed = new OrderedMap<Change>();
  /** Keys of what was there then and is not now, and the other way round. */
  readonly #gone = new OrderedMap<true>();
  readonly #come = new OrderedMap<true>();

  constructor(revision: Revision) {
    this.revision = revision;
    this.upTo = revision;
  }

  /** How many keys have changed. */
  get size(): number {
    return this.#changed.size;
  }

  /** Changes after `upTo`, in order, up to a revision. */
  learn(events: readonly ObjectEvent[], upTo: Revision): void {
    for (const { object, previous, current } of events) {
      const { key } = object;
      let change = this.#changed.get(key);
      if (!change) {
        change = { key, then: previous };
        this.#changed.set(key, change);
      }
      const wasThere = change.then !== undefined;
      mark(this.#gone, key, wasThere && current === undefined);
      mark(this.#come, key, !wasThere && current !== undefined);
    }
    this.upTo = upTo;
  }

  /** As OrderedMap has it, and how many there are from `start` on in all. `present` may be a part of what is there. */
  range(present: Present, prefix: string, start: string, limit?: number): ObjectRange {
    const count = present.count(prefix, start) + this.#gone.count(prefix, start) - this.#come.count(prefix, start);
    if (this.size === 0) return { objects: present.values(prefix, start, limit), count };
    const objects: StoredObject[] = [];
    const wanted = limit ?? Number.POSITIVE_INFINITY;
    let take = wanted;
    for (let from = start; ; take *= 2) {
      const now = present.values(prefix, from, take);
      const last = now.length < take ? undefined : now[now.length - 1]!.key;
      this.#merge(objects, now, this.#changed.values(prefix, from, undefined, last));
      if (objects.length >= wanted || last === undefined) break;
      from = `${last}\0`; // some of these were not there then
    }
    return { objects: objects.length > wanted ? objects.slice(0, wanted) : objects, count };
  }

  #merge(into: StoredObject[], now: readonly StoredObject[], changed: readonly Change[]): void {
    let next = 0;
    for (const object of now) {
      for (; next < changed.length && changed[next]!.key < object.key; next++)
        if (changed[next]!.then) into.push(changed[next]!.then!);
      if (changed[next]?.key !== object.key) into.push(object);
    }
    for (; next < changed.length; next++) if (changed[next]!.then) into.push(changed[next]!.then!);
  }
}

function mark(keys: OrderedMap<true>, key: string, isIn: boolean): void {
  if (isIn) keys.set(key, true);
  else keys.delete(key);
}
