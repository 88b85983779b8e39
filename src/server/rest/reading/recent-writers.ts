/**
 * Who made the last revisions, as far as it was through this server: the store does not know users. A bounded memory,
 * the oldest go first; a revision has one writer.
 */
const KEPT = 10_000;

export class RecentWriters {
  /** Each revision has its place, where it follows the one that many revisions before. */
  readonly #revisions = new Float64Array(KEPT);
  readonly #users: string[] = [];

  note(revision: number, user: string): void {
    const place = revision % KEPT;
    if (revision < this.#revisions[place]!) return;
    this.#revisions[place] = revision;
    this.#users[place] = user;
  }

  of(revision: number): string | undefined {
    const place = revision % KEPT;
    return this.#revisions[place] === revision ? this.#users[place] : undefined;
  }
}
