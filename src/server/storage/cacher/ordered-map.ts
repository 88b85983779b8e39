/**
 * A map whose keys are kept in order, for lists and prefixes: a hash for single look-ups, sorted chunks for ranges.
 * Keys compare as strings. A chunk is never empty and never longer than MAX_CHUNK.
 */
type Item<V> = { readonly key: string; value: V };

const MAX_CHUNK = 512;

export class OrderedMap<V> {
  readonly #byKey = new Map<string, Item<V>>();
  #chunks: Item<V>[][] = [];

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): V | undefined {
    return this.#byKey.get(key)?.value;
  }

  set(key: string, value: V): void {
    const known = this.#byKey.get(key);
    if (known) {
      known.value = value;
      return;
    }
    const item = { key, value };
    this.#byKey.set(key, item);
    if (this.#chunks.length === 0) {
      this.#chunks.push([item]);
      return;
    }
    const at = Math.min(this.#chunkFor(key), this.#chunks.length - 1);
    const chunk = this.#chunks[at]!;
    chunk.splice(lowerBound(chunk, key), 0, item);
    if (chunk.length > MAX_CHUNK) {
      // The last chunk keeps nearly all: keys that arrive in order leave full chunks behind.
      const keep = at === this.#chunks.length - 1 ? MAX_CHUNK - 32 : MAX_CHUNK / 2;
      this.#chunks.splice(at + 1, 0, chunk.splice(keep));
    }
  }

  delete(key: string): boolean {
    if (!this.#byKey.delete(key)) return false;
    const at = this.#chunkFor(key);
    const chunk = this.#chunks[at]!;
    chunk.splice(lowerBound(chunk, key), 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    return true;
  }

  clear(): void {
    this.#byKey.clear();
    this.#chunks = [];
  }

  /** Values of the keys that begin with `prefix`, are not below `start` and not above `last`, in order, at most `limit`. */
  values(prefix = '', start: string = prefix, limit: number = Number.POSITIVE_INFINITY, last?: string): V[] {
    const found: V[] = [];
    const first = start > prefix ? start : prefix;
    for (let at = this.#chunkFor(first); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!;
      // One look at its last key says it of all: whatever lies between two keys with the prefix has it too.
      const isWhole = chunk[chunk.length - 1]!.key.startsWith(prefix);
      for (let i = chunk[0]!.key < first ? lowerBound(chunk, first) : 0; i < chunk.length; i++) {
        const { key, value } = chunk[i]!;
        if (found.length === limit || (!isWhole && !key.startsWith(prefix))) return found;
        if (last !== undefined && key > last) return found;
        found.push(value);
      }
    }
    return found;
  }

  /** How many values `values` would find without a limit; costs a look at each chunk, not at each key. */
  count(prefix = '', start: string = prefix): number {
    const first = start > prefix ? start : prefix;
    let count = 0;
    for (let at = this.#chunkFor(first); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at]!;
      const from = chunk[0]!.key < first ? lowerBound(chunk, first) : 0;
      if (chunk[chunk.length - 1]!.key.startsWith(prefix)) {
        count += chunk.length - from;
        continue;
      }
      for (let i = from; i < chunk.length && chunk[i]!.key.startsWith(prefix); i++) count++;
      break;
    }
    return count;
  }

  /** The first chunk whose last key is not below `key`. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const chunk = this.#chunks[middle]!;
      if (chunk[chunk.length - 1]!.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function lowerBound(chunk: readonly { readonly key: string }[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunk[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
