/**
 * Which fields and labels of one resource have an index. A field gets one when it is first asked for: there are as many as the
 * kind has. Labels are the users' own, without number: the first few that are asked for get one, and another takes the place
 * of one that nobody has asked for in a long row of lists, so that whoever asks for ever other labels costs a search each time
 * and not an index as well.
 */
import type { Pin } from '../../objects/selection.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Pinned } from '../state/pinned-range.ts';
import { type Present, ValueIndex } from './value-index.ts';

export const MOST_LABELS = 8;
/** Asking for labels so many times without one of them gives its place away. */
export const UNASKED = 256;

type Kept = { readonly index: ValueIndex; askedAt: number };

export class ValueIndexes {
  readonly #fieldNames: readonly string[];
  readonly #present: Present;
  readonly #closing = new AbortController();
  readonly #byField = new Map<string, ValueIndex>();
  readonly #byLabel = new Map<string, Kept>();
  #asked = 0;

  constructor(fieldNames: readonly string[], present: Present) {
    this.#fieldNames = fieldNames;
    this.#present = present;
  }

  /** Those that have one of the pinned values; undefined where no index knows them (yet). */
  find(pinned: readonly Pin[], scope: string, start: string): Pinned | undefined {
    for (const pin of pinned) {
      const objects = this.#indexFor(pin)?.find(pin.value, scope, start);
      if (objects) return { objects, pin };
    }
    return undefined;
  }

  change(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    for (const index of this.#byField.values()) index.change(current, previous);
    for (const { index } of this.#byLabel.values()) index.change(current, previous);
  }

  close(): void {
    this.#closing.abort();
  }

  #indexFor(pin: Pin): ValueIndex | undefined {
    return pin.of === 'label' ? this.#indexOfLabel(pin) : this.#indexOfField(pin);
  }

  #indexOfField(pin: Pin): ValueIndex | undefined {
    if (!this.#fieldNames.includes(pin.key)) return undefined;
    let index = this.#byField.get(pin.key);
    if (!index) {
      index = this.#make(pin);
      this.#byField.set(pin.key, index);
    }
    return index;
  }

  #indexOfLabel(pin: Pin): ValueIndex | undefined {
    this.#asked++;
    const kept = this.#byLabel.get(pin.key);
    if (kept) {
      kept.askedAt = this.#asked;
      return kept.index;
    }
    if (this.#byLabel.size >= MOST_LABELS && !this.#letGo()) return undefined;
    const index = this.#make(pin);
    this.#byLabel.set(pin.key, { index, askedAt: this.#asked });
    return index;
  }

  /** Of the one that was asked for longest ago, if that is long. */
  #letGo(): boolean {
    const [key, { askedAt }] = [...this.#byLabel].reduce((a, b) => (b[1].askedAt < a[1].askedAt ? b : a));
    if (this.#asked - askedAt < UNASKED) return false;
    return this.#byLabel.delete(key);
  }

  #make({ of, key }: Pin): ValueIndex {
    return new ValueIndex({ of, key }, this.#present, this.#closing.signal);
  }
}
