/**
 * The objects of one resource by the value of one field or one label: what a kubelet lists is found, not searched for.
 *
 * It is made beside the work of others: until all objects that were there are in it, it is not ready, and who asks must
 * search. Always true once it is ready: under each value lies exactly what has that value now; what has not got the label
 * lies nowhere. `change` tells it of every change from its first moment on.
 */
import { WorkSlices } from '../../../event-loop/work-slices.ts';
import type { Pin } from '../../objects/selection.ts';
import type { StoredObject } from '../../objects/stored-object.ts';

const COMMON_SHARE = 1 / 8;

/** What is there now. */
export type Present = {
  readonly size: number;
  get(key: string): StoredObject | undefined;
  values(): Iterable<StoredObject>;
};

type OfValue = {
  /** In the order of keys, but for those that came since somebody asked: to sort what is nearly in order takes little time. */
  byKey: Map<string, StoredObject>;
  hasNewKeys: boolean;
  /** Its values in the order of keys; undefined until somebody asks. */
  inOrder: readonly StoredObject[] | undefined;
};

export class ValueIndex {
  readonly #of: Pick<Pin, 'of' | 'key'>;
  readonly #present: Present;
  readonly #values = new Map<string, OfValue>();
  #isReady = false;

  constructor(of: Pick<Pin, 'of' | 'key'>, present: Present, signal: AbortSignal) {
    this.#of = of;
    this.#present = present;
    void this.#fill(signal).catch(() => {}); // the resource is closed: nobody asks any more
  }

  /** In the order of keys, not to be changed; undefined while it is not ready, and where so many have the value that to search is no worse. */
  find(value: string, prefix: string, start: string): readonly StoredObject[] | undefined {
    const there = this.#values.get(value);
    if (!this.#isReady || (there && there.byKey.size > this.#present.size * COMMON_SHARE)) return undefined;
    if (!there) return [];
    const inOrder = there.inOrder ?? putInOrder(there);
    const first = start > prefix ? start : prefix;
    // Nearly always all of them, as those on a node: that the two at the ends tell.
    if (inOrder[0]!.key >= first && inOrder[inOrder.length - 1]!.key.startsWith(prefix)) return inOrder;
    const from = firstWhere(inOrder, ({ key }) => key >= first);
    const to =
      prefix === '' ? inOrder.length : firstWhere(inOrder, ({ key }) => key > prefix && !key.startsWith(prefix));
    return from === 0 && to === inOrder.length ? inOrder : inOrder.slice(from, Math.max(from, to));
  }

  change(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    const before = previous && this.#valueOf(previous);
    const now = current && this.#valueOf(current);
    if (previous && before !== undefined && before !== now) this.#remove(previous, before);
    if (current && now !== undefined) this.#add(current, now); // in its place, if it was there
  }

  async #fill(signal: AbortSignal): Promise<void> {
    const slices = new WorkSlices(signal);
    for (const object of this.#present.values()) {
      if (slices.isOver) await slices.pause();
      if (this.#present.get(object.key) !== object) continue;
      const value = this.#valueOf(object);
      if (value !== undefined) this.#add(object, value);
    }
    this.#isReady = true;
  }

  #add(object: StoredObject, value: string): void {
    let there = this.#values.get(value);
    if (!there) {
      there = { byKey: new Map(), hasNewKeys: false, inOrder: undefined };
      this.#values.set(value, there);
    }
    there.hasNewKeys ||= !there.byKey.has(object.key);
    there.byKey.set(object.key, object);
    there.inOrder = undefined; // not changed: it may be on its way to a client
  }

  /** While it is being filled it may not be there yet. */
  #remove(object: StoredObject, value: string): void {
    const there = this.#values.get(value);
    if (there?.byKey.get(object.key) !== object) return;
    there.byKey.delete(object.key);
    there.inOrder = undefined;
    if (there.byKey.size === 0) this.#values.delete(value);
  }

  /** As a selector sees it: undefined is a label that is not there. */
  #valueOf(object: StoredObject): string | undefined {
    const { of, key } = this.#of;
    if (of === 'field') return object.field(key);
    const value: unknown = object.labels?.[key];
    return typeof value === 'string' ? value : undefined;
  }
}

function putInOrder(there: OfValue): readonly StoredObject[] {
  const inOrder = [...there.byKey.values()];
  if (there.hasNewKeys) {
    inOrder.sort((a, b) => (a.key < b.key ? -1 : 1));
    there.byKey = new Map(inOrder.map((object) => [object.key, object]));
    there.hasNewKeys = false;
  }
  there.inOrder = inOrder;
  return inOrder;
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
