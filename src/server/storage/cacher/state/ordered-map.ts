/**
 * A map whose keys are kept in order, for lists and prefixes: a hash for single look-ups, sorted chunks for ranges.
 * Keys compare as strings. A chunk is never empty and never longer than MAX_CHUNK.
 *
 *   chunk  keys     a  b  c        what a range takes of a chunk it copies as it lies, without a look at any value: of ten
 *          values   1  2  3        thousand of them few are in the processor's caches
 *          weight   6
 *
 * Always true: the weight of a chunk is that of its values together. What a value weighs does not change while it is here.
 */
type Chunk<V> = { readonly keys: string[]; readonly values: V[]; weight: number };

/** Values in order, and what they weigh together. */
export type Weighed<V> = { readonly values: V[]; readonly weight: number };

const MAX_CHUNK = 512;

export class OrderedMap<V> {
  readonly #byKey = new Map<string, V>();
  readonly #weigh: ((value: V) => number) | undefined;
  #chunks: Chunk<V>[] = [];

  /** Without `weigh` nothing weighs anything. */
  constructor(weigh?: (value: V) => number) {
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): V | undefined {
    return this.#byKey.get(key);
  }

  set(key: string, value: V): void {
    const isKnown = this.#byKey.has(key);
    this.#byKey.set(key, value);
    const weight = this.#weigh?.(value) ?? 0;
    if (this.#chunks.length === 0) {
      this.#chunks.push({ keys: [key], values: [value], weight });
      return;
    }
    const at = Math.min(this.#chunkFor(key), this.#chunks.length - 1);
    const chunk = this.#chunks[at]!;
    const { keys, values } = chunk;
    const place = lowerBound(keys, key);
    chunk.weight += weight;
    if (isKnown) {
      if (this.#weigh) chunk.weight -= this.#weigh(values[place]!);
      values[place] = value;
      return;
    }
    keys.splice(place, 0, key);
    values.splice(place, 0, value);
    if (keys.length > MAX_CHUNK) this.#split(at);
  }

  delete(key: string): boolean {
    if (!this.#byKey.delete(key)) return false;
    const at = this.#chunkFor(key);
    const chunk = this.#chunks[at]!;
    const { keys, values } = chunk;
    const place = lowerBound(keys, key);
    if (this.#weigh) chunk.weight -= this.#weigh(values[place]!);
    keys.splice(place, 1);
    values.splice(place, 1);
    if (keys.length === 0) this.#chunks.splice(at, 1);
    return true;
  }

  clear(): void {
    this.#byKey.clear();
    this.#chunks = [];
  }

  /** Values of the keys that begin with `prefix`, are not below `start` and not above `last`, in order, at most `limit`. */
  values(prefix = '', start: string = prefix, limit: number = Number.POSITIVE_INFINITY, last?: string): V[] {
    return this.range(prefix, start, limit, last).values;
  }

  /** The same with what they weigh. */
  range(prefix = '', start: string = prefix, limit: number = Number.POSITIVE_INFINITY, last?: string): Weighed<V> {
    const parts: V[][] = [];
    let weight = 0;
    let left = limit;
    const first = start > prefix ? start : prefix;
    for (let at = this.#chunkFor(first); at < this.#chunks.length && left > 0; at++) {
      const { keys, values, weight: whole } = this.#chunks[at]!;
      const from = keys[0]! < first ? lowerBound(keys, first) : 0;
      const end = endOf(keys, from, prefix, last);
      const to = Math.min(end, from + left);
      if (to > from) {
        const isWhole = from === 0 && to === values.length;
        const part = isWhole ? values : values.slice(from, to);
        parts.push(part);
        left -= part.length;
        if (this.#weigh) weight += isWhole ? whole : sum(part, this.#weigh);
      }
      if (end < keys.length) break;
    }
    return { values: ([] as V[]).concat(...parts), weight };
  }

  /** How many values `values` would find without a limit; costs a look at each chunk, not at each key. */
  count(prefix = '', start: string = prefix): number {
    const first = start > prefix ? start : prefix;
    let count = 0;
    for (let at = this.#chunkFor(first); at < this.#chunks.length; at++) {
      const { keys } = this.#chunks[at]!;
      const from = keys[0]! < first ? lowerBound(keys, first) : 0;
      const end = endOf(keys, from, prefix, undefined);
      count += end - from;
      if (end < keys.length) break;
    }
    return count;
  }

  #split(at: number): void {
    const { keys, values, weight } = this.#chunks[at]!;
    // The last chunk keeps nearly all: keys that arrive in order leave full chunks behind.
    const keep = at === this.#chunks.length - 1 ? MAX_CHUNK - 32 : MAX_CHUNK / 2;
    const [restKeys, restValues] = [keys.splice(keep), values.splice(keep)];
    const restWeight = this.#weigh ? sum(restValues, this.#weigh) : 0;
    this.#chunks[at] = { keys, values, weight: weight - restWeight };
    this.#chunks.splice(at + 1, 0, { keys: restKeys, values: restValues, weight: restWeight });
  }

  /** The first chunk whose last key is not below `key`. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { keys } = this.#chunks[middle]!;
      if (keys[keys.length - 1]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Up to where, from `from` on, keys begin with the prefix and are not above `last`; none from `from` on is below the prefix. */
function endOf(keys: readonly string[], from: number, prefix: string, last: string | undefined): number {
  // One look at the last key says it of all: whatever lies between two keys with the prefix has it too.
  const isWhole = keys[keys.length - 1]!.startsWith(prefix);
  const end = isWhole ? keys.length : firstWhere(keys, from, (key) => !key.startsWith(prefix));
  return last === undefined
    ? end
    : Math.min(
        end,
        firstWhere(keys, from, (key) => key > last),
      );
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first place, from `from` on, from which it holds; it holds for all behind that. */
function firstWhere(keys: readonly string[], from: number, holds: (key: string) => boolean): number {
  let low = from;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(keys[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function sum<V>(values: readonly V[], weigh: (value: V) => number): number {
  let weight = 0;
  for (const value of values) weight += weigh(value);
  return weight;
}
