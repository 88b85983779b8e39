/**
 * A range read at one revision, in steps: the caller decides whether to let others run in between. The revision and
 * everything it needs must stay readable (not compacted) from the first step to the last.
 */
import type { Bounds } from '../../keys.ts';
import type { Key, KeyValue, RangeOptions, RangeResult, Revision } from '../../kv.ts';
import { type KeyIndex, liveAt, type Version } from './key-index.ts';
import { withValue } from './log-record.ts';

const noValue: Uint8Array = Buffer.alloc(0);

type ReadValue = (key: Key, version: Version, take?: (bytes: number) => Buffer) => KeyValue;

export class RangeScan {
  readonly kvs: KeyValue[] = [];
  /** All keys of the range at the revision; right once the scan is done. */
  count = 0;
  readonly #index: KeyIndex;
  readonly #read: ReadValue;
  readonly #take: RangeOptions['take'];
  readonly #at: Revision;
  readonly #end: Key | undefined;
  readonly #limit: number;
  readonly #keysOnly: boolean;
  readonly #isCountKnown: boolean;
  #start: Key;

  /** `isCurrent`: nothing was published above `at`, so the index can count by itself. */
  constructor(
    index: KeyIndex,
    bounds: Bounds,
    at: Revision,
    isCurrent: boolean,
    { limit = 0, keysOnly = false, countOnly = false, take, claim }: RangeOptions,
    read: ReadValue,
  ) {
    this.#index = index;
    this.#read = read;
    this.#take = claim ? claiming(claim, take) : take;
    this.#at = at;
    this.#start = bounds.start;
    this.#end = bounds.end;
    this.#limit = countOnly ? 0 : limit > 0 ? limit : Number.POSITIVE_INFINITY;
    this.#keysOnly = keysOnly;
    this.#isCountKnown = isCurrent;
    if (isCurrent) this.count = index.countLive(bounds);
  }

  /** Looks at up to `entries` more keys; true when there is nothing left to look at. */
  step(entries: number): boolean {
    if (this.#isCountKnown && this.kvs.length >= this.#limit) return true;
    const slice = this.#index.slice({ start: this.#start, end: this.#end }, entries);
    for (const entry of slice) {
      const version = liveAt(entry, this.#at);
      if (!version) continue;
      if (!this.#isCountKnown) this.count++;
      if (this.kvs.length < this.#limit)
        this.kvs.push(
          this.#keysOnly ? withValue(entry.key, version, noValue) : this.#read(entry.key, version, this.#take),
        );
      else if (this.#isCountKnown) return true;
    }
    if (slice.length < entries) return true;
    this.#start = `${slice[slice.length - 1]!.key}\0`;
    return false;
  }

  /** What was found, for a store that is at `revision`. */
  result(revision: Revision, { countOnly }: RangeOptions): RangeResult {
    return { revision, kvs: this.kvs, count: this.count, more: !countOnly && this.kvs.length < this.count };
  }
}

function claiming(
  claim: (bytes: number) => void,
  take: (bytes: number) => Buffer = Buffer.allocUnsafe,
): (bytes: number) => Buffer {
  return (bytes) => {
    claim(bytes);
    return take(bytes);
  };
}
