/**
 * A set that most often has one member, and then is no more than a reference to it: of those who watch, many share their
 * wish with nobody, and an empty set of the language has a table for four.
 */
export class SmallSet<T extends object> implements Iterable<T> {
  /** Undefined: none, or more than one. */
  #one: T | undefined;
  #many: Set<T> | undefined;

  get size(): number {
    return this.#many?.size ?? Number(this.#one !== undefined);
  }

  add(member: T): void {
    if (this.#many) this.#many.add(member);
    else if (this.#one === undefined || this.#one === member) this.#one = member;
    else {
      this.#many = new Set([this.#one, member]);
      this.#one = undefined;
    }
  }

  /** Whether it was there. */
  delete(member: T): boolean {
    if (this.#many) return this.#many.delete(member);
    if (this.#one !== member) return false;
    this.#one = undefined;
    return true;
  }

  /** Those that are there now, in the order in which they came. */
  members(): readonly T[] {
    if (this.#many) return [...this.#many];
    return this.#one === undefined ? [] : [this.#one];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.members()[Symbol.iterator]();
  }
}
