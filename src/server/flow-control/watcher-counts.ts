/**
 * How many watches are open on what, so that a write can be charged for those it must be told to.
 *
 * Always true: a watch counts once from its start to its end, however often its end is told. Selectors are not looked at;
 * but who watches the pods of one node hears of few writes and is left out.
 */
export type WatchedPlace = {
  readonly group: string;
  readonly resource: string;
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** Empty: all objects. */
  readonly name: string;
};

export class WatcherCounts {
  readonly #counts = new Map<string, number>();

  /** Returns what ends it. */
  add(place: WatchedPlace): () => void {
    const key = keyOf(place);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = this.#counts.get(key)! - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }

  /** Who may hear of a write there. */
  interested({ group, resource, namespace, name }: WatchedPlace): number {
    if (this.#counts.size === 0) return 0;
    const at = (ns: string, of: string) => this.#counts.get(keyOf({ group, resource, namespace: ns, name: of })) ?? 0;
    let count = at('', '');
    if (namespace !== '') count += at(namespace, '');
    if (name !== '') count += at(namespace, name);
    return count;
  }
}

/** None of the parts can hold a slash. */
function keyOf({ group, resource, namespace, name }: WatchedPlace): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
