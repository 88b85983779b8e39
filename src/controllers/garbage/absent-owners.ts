/**
 * Owners that are known to be gone, by uid: seen to be deleted while something still belonged to them. A uid is never
 * given twice, so nobody need be asked; and where the kind has gone with its objects nobody could be. Bounded: the
 * oldest are forgotten, and then the server is asked.
 */
const LIMIT = 10_000;

export class AbsentOwners {
  readonly #uids = new Set<string>();

  add(uid: string): void {
    this.#uids.delete(uid);
    this.#uids.add(uid);
    if (this.#uids.size <= LIMIT) return;
    for (const oldest of this.#uids) {
      this.#uids.delete(oldest);
      return;
    }
  }

  has(uid: string): boolean {
    return this.#uids.has(uid);
  }

  forget(uid: string): void {
    if (this.#uids.size > 0) this.#uids.delete(uid);
  }
}
