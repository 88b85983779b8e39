/**
 * The set of what is under way: members come and go with every request, and few are there at once.
 *
 * Not a Set of the language: that one, each time its table is full of members that have left, moves to a new table, and the old
 * one keeps a reference to the new one and to all that were there. Once one of them has become old, the chain behind
 * it, with every request that ever hung on it, outlives all quick collections until a full one.
 *
 * A member knows its own place, so it can be in one such set only. The order is nobody's business.
 */
export interface ChurningMember {
  /** Written by the set alone; -1: in none. */
  slot: number;
}

export class ChurningSet<T extends ChurningMember> implements Iterable<T> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    if (member.slot >= 0) return;
    member.slot = this.#members.length;
    this.#members.push(member);
  }

  /** The last one takes its place. */
  delete(member: T): void {
    const at = member.slot;
    if (at < 0) return;
    member.slot = -1;
    const last = this.#members.pop()!;
    if (last === member) return;
    this.#members[at] = last;
    last.slot = at;
  }

  /** Over those that are there now: who leaves meanwhile is still visited, who comes is not. */
  [Symbol.iterator](): Iterator<T> {
    return this.#members.slice()[Symbol.iterator]();
  }
}
