/**
 * How many watches are open on what, so that a write can be charged for those it must be told to.
 *
 * Always true: the count of a place is shared by all who watch it, and gone with the last of them. Selectors are not looked
 * at; but who watches the pods of one node hears of few writes and is left out.
 */
export type WatchedPlace = {
  readonly group: string;
  readonly resource: string;
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** Empty: all objects. */
  readonly name: string;
};

/** What those who watch one place are counted by. */
export interface WatcherCount {
  /** One less; by each of them once. */
  leave(): void;
}

export class WatcherCounts {
  readonly #counts = new Map<string, PlaceCount>();

  /** Whoever watches leaves what this answers. */
  add(place: WatchedPlace): WatcherCount {
    const key = keyOf(place);
    let count = this.#counts.get(key);
    if (!count) {
      count = new PlaceCount(() => this.#counts.delete(key));
      this.#counts.set(key, count);
    }
    count.watchers++;
    return count;
  }

  /** Who may hear of a write there. */
  interested({ group, resource, namespace, name }: WatchedPlace): number {
    if (this.#counts.size === 0) return 0;
    const at = (ns: string, of: string) =>
      this.#counts.get(keyOf({ group, resource, namespace: ns, name: of }))?.watchers ?? 0;
    let count = at('', '');
    if (namespace !== '') count += at(namespace, '');
    if (name !== '') count += at(namespace, name);
    return count;
  }
}

class PlaceCount implements WatcherCount {
  watchers = 0;
  readonly #onEmpty: () => void;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  leave(): void {
    if (--this.watchers === 0) this.#onEmpty();
  }
}

/** None of the parts can hold a slash. */
function keyOf({ group, resource, namespace, name }: WatchedPlace): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
