/**
 * The last few states that somebody lists in pages, each at a revision of its own: kept for the next page, which then learns
 * only what is new since the last one. Whoever asks for one that was forgotten has it made again from the window.
 */
import type { Revision } from '../../object-storage.ts';
import type { ObjectEvent } from '../../objects/object-event.ts';
import { PastState } from './past-state.ts';

const MOST = 4;

export class PastStates {
  #known: PastState[] = [];

  /** `now`: the revision of the present; `changesAfter`: what the window has after another one. */
  at(revision: Revision, now: Revision, changesAfter: (revision: Revision) => readonly ObjectEvent[]): PastState {
    let past = this.#known.find((known) => known.revision === revision);
    if (!past) {
      past = new PastState(revision);
      if (revision === now) return past; // nothing to remember yet
      if (this.#known.length >= MOST) this.#known.shift();
      this.#known.push(past);
    }
    if (past.upTo < now) past.learn(changesAfter(past.upTo), now);
    return past;
  }

  /** The window does not reach back further. */
  forgetBefore(revision: Revision): void {
    this.#known = this.#known.filter((known) => known.revision >= revision);
  }

  clear(): void {
    this.#known = [];
  }
}
