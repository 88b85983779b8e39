/**
 * One change of one object, with what it was before: what selectors judge and encodings put into bytes. Immutable but
 * for what is remembered of it: the frames that were made of it, each once, and how the object was when it went.
 */
import type { Frames } from './kept-frames.ts';
import type { StoredObject } from './stored-object.ts';

export class ObjectEvent {
  readonly revision: number;
  readonly current: StoredObject | undefined;
  readonly previous: StoredObject | undefined;
  /** When it came, by the cache's clock. */
  readonly at: number;
  /** What was last sent for it, by encoding and type of event, shared by all; undefined: nothing was. */
  frames: Frames | undefined;
  #gone: StoredObject | undefined;

  constructor(revision: number, current: StoredObject | undefined, previous: StoredObject | undefined, at: number) {
    this.revision = revision;
    this.current = current;
    this.previous = previous;
    this.at = at;
  }

  get object(): StoredObject {
    return this.current ?? this.previous!;
  }

  /** What a reader is shown that no longer sees the object: how it was, with the version of this change. */
  get gone(): StoredObject {
    this.#gone ??= this.previous!.withRevision(this.revision);
    return this.#gone;
  }

  /** What it keeps alive that nothing else would: of a deletion that is the object as it was. */
  get bytes(): number {
    return this.object.bytes.length + 200;
  }
}
