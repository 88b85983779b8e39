/**
 * Who made the last revisions, as far as it was through this server: the store does not know users. A bounded memory,
 * the oldest go first; a revision has one writer.
 */
const KEPT = 10_000;

export class RecentWriters {
  readonly #users = new Map<number, string>();

  note(revision: number, user: string): void {
    this.#users.set(revision, user);
    if (this.#users.size <= KEPT) return;
    for (const oldest of this.#users.keys()) {
      this.#users.delete(oldest);
      return;
    }
  }

  of(revision: number): string | undefined {
    return this.#users.get(revision);
  }
}
