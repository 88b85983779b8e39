/**
 * What was written last, as who wrote it was given it, until the cache hears of it: then it need not be made a second time.
 *
 * Bounded: a place for each of the last revisions, and nothing stays that was taken. What the cache has heard of before, or
 * too late, is made anew.
 */
import type { StoredObject } from './stored-object.ts';

const PLACES = 64;

export class WrittenObjects {
  readonly #places: (StoredObject | undefined)[] = new Array<undefined>(PLACES).fill(undefined);

  note(object: StoredObject): void {
    this.#places[object.revision % PLACES] = object;
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
