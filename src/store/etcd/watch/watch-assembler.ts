/**
 * Turns the responses of a watch stream into batches of whole revisions, across as many streams as it takes. No
 * network here: it is fed responses and answers batches.
 *
 * Always true: `nextRevision` is the first revision not answered yet, and the place to resume a broken stream. Batches
 * go up in revision; an event below `nextRevision` was answered before and is dropped. Of a response in fragments, the
 * last revision at hand is held back until the next piece shows that it is whole, so memory is bounded by one piece and
 * one revision. Progress below `nextRevision - 1` is dropped: it comes from a member that lags behind what another has
 * told already, or is about the time before a watch that starts in the future.
 */
import type { Revision, WatchBatch, WatchEvent } from '../../kv.ts';
import type { WatchResponse } from '../messages/messages-watch.ts';

export class WatchAssembler {
  #nextRevision: Revision;
  #heldBack: WatchEvent[] = [];

  /** 0: after the revision that the first created response tells. */
  constructor(fromRevision: Revision) {
    this.#nextRevision = fromRevision;
  }

  /** 0 until it is known. */
  get nextRevision(): Revision {
    return this.#nextRevision;
  }

  /** The next response will be the first of another stream. */
  restart(): void {
    this.#heldBack = [];
  }

  accept(response: WatchResponse): WatchBatch | undefined {
    if (response.created) {
      if (this.#nextRevision === 0) this.#nextRevision = response.revision + 1;
      return undefined;
    }
    if (response.canceled) return undefined;
    if (response.events.length === 0 && !response.fragment && this.#heldBack.length === 0)
      return this.#progress(response.revision);
    return this.#events(response);
  }

  #progress(revision: Revision): WatchBatch | undefined {
    if (revision < this.#nextRevision - 1) return undefined;
    this.#nextRevision = revision + 1;
    return { revision, events: [] };
  }

  #events(response: WatchResponse): WatchBatch | undefined {
    let events = response.events;
    const first = events[0];
    if (first && first.kv.modRevision < this.#nextRevision)
      events = events.filter((event) => event.kv.modRevision >= this.#nextRevision);
    if (this.#heldBack.length > 0) {
      events = this.#heldBack.concat(events);
      this.#heldBack = [];
    }
    if (response.fragment) {
      const newest = events.at(-1)?.kv.modRevision;
      let whole = events.length;
      while (whole > 0 && events[whole - 1]!.kv.modRevision === newest) whole--;
      this.#heldBack = events.slice(whole);
      events = events.slice(0, whole);
    }
    const last = events.at(-1);
    if (!last) return undefined;
    this.#nextRevision = last.kv.modRevision + 1;
    return { revision: last.kv.modRevision, events };
  }
}
