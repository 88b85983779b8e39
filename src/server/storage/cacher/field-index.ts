/**
 * The objects of one resource by the value of one field: what a kubelet lists is found, not searched for.
 *
 * It is made when a field is first asked for, beside the work of others: until all objects that were there are in it, it
 * is not ready, and who asks must search. Always true once it is ready: under each value lies exactly what has that
 * value now. `change` tells it of every change from its first moment on.
 */
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { StoredObject } from '../objects/stored-object.ts';

const COMMON_SHARE = 1 / 8;

type OfValue = {
  readonly byKey: Map<string, StoredObject>;
  /** The same in the order of keys; undefined until somebody asks. */
  inOrder: StoredObject[] | undefined;
};

export class FieldIndex {
  readonly #field: string;
  readonly #values = new Map<string, OfValue>();
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

  /** In the order of keys, not to be changed; undefined while it is not ready, and where so many have the value that to search is no worse. */
  find(value: string, prefix: string, start: string): readonly StoredObject[] | undefined {
    const there = this.#values.get(value);
    if (!this.#isReady || (there && there.byKey.size > this.#size * COMMON_SHARE)) return undefined;
    if (!there) return [];
    there.inOrder ??= [...there.byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    const { inOrder } = there;
    const first = start > prefix ? start : prefix;
    const from = firstWhere(inOrder, ({ key }) => key >= first);
    const to =
      prefix === '' ? inOrder.length : firstWhere(inOrder, ({ key }) => key > prefix && !key.startsWith(prefix));
    return from === 0 && to === inOrder.length ? inOrder : inOrder.slice(from, Math.max(from, to));
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
    if (!there) {
      this.#values.set(value, { byKey: new Map([[object.key, object]]), inOrder: undefined });
      return;
    }
    there.byKey.set(object.key, object);
    there.inOrder = undefined;
  }

  /** While it is being filled it may not be there yet. */
  #remove(object: StoredObject): void {
    const value = object.field(this.#field);
    const there = this.#values.get(value);
    if (there?.byKey.get(object.key) !== object) return;
    there.byKey.delete(object.key);
    there.inOrder = undefined; // not changed: it may be on its way to a client
    this.#size--;
    if (there.byKey.size === 0) this.#values.delete(value);
  }
}

/** The first place from which on it holds; it holds for all behind that. */
function firstWhere(objects: readonly StoredObject[], holds: (object: StoredObject) => boolean): number {
  let low = 0;
  let high = objects.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(objects[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
