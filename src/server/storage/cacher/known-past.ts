/**
 * What a cache knows of states before the present: the window of its changes, the stretches of it whose single changes were missed,
 * and the states that somebody lists in pages.
 *
 * Always true: a state that is given out is the state of the store at that revision; of any that is not known for certain there
 * is none.
 */
import type { Revision } from '../object-storage.ts';
import type { PastState } from './state/past-state.ts';
import { PastStates } from './state/past-states.ts';
import type { WatchCache } from './watch-cache.ts';

export class KnownPast {
  readonly #window: WatchCache;
  /** Stretches of revisions of which the window holds only what became of them. */
  #gaps: { readonly after: Revision; readonly until: Revision }[] = [];
  /** What was listed in pages last. */
  readonly #states = new PastStates();

  constructor(window: WatchCache) {
    this.#window = window;
  }

  /** The state at a revision, where the present is at `now`. Undefined if the window does not reach back so far. */
  at(revision: Revision, now: Revision): PastState | undefined {
    if (revision > now || revision < this.#window.since || this.isMissed(revision)) return undefined;
    return this.#states.at(revision, now, (upTo) => this.#window.after(upTo));
  }

  /** Single changes between the two were missed. */
  miss(after: Revision, until: Revision): void {
    this.#gaps.push({ after, until });
  }

  /** Whether the state at this revision, and so the changes after it, are not known. */
  isMissed(revision: Revision): boolean {
    return this.#gaps.some(({ after, until }) => after < revision && revision < until);
  }

  /** When changes of an object came that are still in the window, by their revision; milliseconds ago. */
  agesOf(key: string, nowMs: number): ReadonlyMap<Revision, number> {
    const ages = new Map<Revision, number>();
    for (const event of this.#window.after(this.#window.since))
      if (event.object.key === key) ages.set(event.revision, nowMs - event.at);
    return ages;
  }

  /** What is too old goes from the window, and all that rests on it. */
  trim(nowMs: number): void {
    const window = this.#window;
    window.trim(nowMs);
    this.#states.forgetBefore(window.since);
    this.#gaps = this.#gaps.filter(({ until }) => until > window.since);
  }

  /** What was is of another history. */
  startOver(): void {
    this.#gaps = [];
    this.#states.clear();
  }
}
