/**
 * The objects of one resource by the value of one field: what a kubelet lists is found, not searched for.
 *
 * It is made when a field is first asked for, beside the work of others: until all objects that were there are in it, it
 * is not ready, and who asks must search. Always true once it is ready: under each value lies exactly what has that
 * value now. `change` tells it of every change from its first moment on.
 */
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { StoredObject } from '../stored-object.ts';

const COMMON_SHARE = 1 / 8;

type ByKey = Map<string, StoredObject>;

export class FieldIndex {
  readonly #field: string;
  readonly #values = new Map<string, ByKey>();
  #size = 0;
  #isReady = false;

  /** `current` answers what an object is by now: those of `objects` that have changed since were told of. */
  constructor(
    field: string,
    objects: readonly StoredObject[],
    current: (key: string) => StoredObject | undefined,
    signal: AbortSignal,
  ) {
    this.#field = field;
    void this.#fill(objects, current, signal).catch(() => {}); // the resource is closed: nobody asks any more
  }

  /** In the order of keys; undefined while it is not ready, and where so many have the value that to search is no worse. */
  find(value: string, prefix: string, start: string): readonly StoredObject[] | undefined {
    const there = this.#values.get(value);
    if (!this.#isReady || (there && there.size > this.#size * COMMON_SHARE)) return undefined;
    return [...(there?.values() ?? [])]
      .filter(({ key }) => key.startsWith(prefix) && key >= start)
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  }

  change(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    if (previous) this.#remove(previous);
    if (current) this.#add(current);
  }

  async #fill(
    objects: readonly StoredObject[],
    current: (key: string) => StoredObject | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const slices = new WorkSlices(signal);
    for (const object of objects) {
      if (slices.isOver) await slices.pause();
      if (current(object.key) === object) this.#add(object);
    }
    this.#isReady = true;
  }

  #add(object: StoredObject): void {
    this.#size++;
    const value = object.field(this.#field);
    const there = this.#values.get(value);
    if (there) there.set(object.key, object);
    else this.#values.set(value, new Map([[object.key, object]]));
  }

  /** While it is being filled it may not be there yet. */
  #remove(object: StoredObject): void {
    const value = object.field(this.#field);
    const there = this.#values.get(value);
    if (there?.get(object.key) !== object) return;
    there.delete(object.key);
    this.#size--;
    if (there.size === 0) this.#values.delete(value);
  }
}
