/**
 * What was written last, as who wrote it was given it, until the cache hears of it: then it need not be made a second time.
 *
 * Bounded: a place for each of the last revisions, and nothing stays that was taken, or that the cache has heard of before who
 * wrote it: that one is made anew. Good for one watch of the cache: another may be of a store that was set back.
 */
import type { StoredObject } from './stored-object.ts';

const PLACES = 64;

export class WrittenObjects {
  readonly #places: (StoredObject | undefined)[] = new Array<undefined>(PLACES).fill(undefined);

  /** Of all up to this revision the cache has heard. */
  #heard: number;

  constructor(heard: number) {
    this.#heard = heard;
  }

  heard(revision: number): void {
    this.#heard = revision;
  }

  note(object: StoredObject): void {
    if (object.revision > this.#heard) this.#places[object.revision % PLACES] = object;
  }

  /** Once. */
  take(key: string, revision: number): StoredObject | undefined {
    const place = revision % PLACES;
    const object = this.#places[place];
    if (object?.revision !== revision || object.key !== key) return undefined;
    this.#places[place] = undefined;
    return object;
  }
}
