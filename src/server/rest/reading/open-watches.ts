/**
 * The watches that are open, by name, with who opened them: for those who look. A name is given once and never again
 * while the server runs.
 */
import type { ObjectWatch } from '../../storage/object-watch.ts';
import { nameOn } from '../../workers/place.ts';
import type { RequestFacts } from './request-facts.ts';

export type OpenWatch = {
  readonly number: number;
  readonly watch: ObjectWatch;
  readonly request: RequestFacts;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly endsAt: number;
};

export class OpenWatches {
  readonly #watches = new Map<ObjectWatch, OpenWatch>();
  readonly #worker: number;
  #count = 0;

  constructor(worker = 0) {
    this.#worker = worker;
  }

  get size(): number {
    return this.#watches.size;
  }

  add(watch: ObjectWatch, request: RequestFacts, timeoutMs: number): void {
    const number = ++this.#count;
    const openedAt = Date.now();
    this.#watches.set(watch, { number, watch, request, openedAt, endsAt: openedAt + timeoutMs });
    watch.onEnd(this.#forget);
  }

  /** `pods-12`; of the third worker of a server `pods-12-w3` */
  nameOf({ request, number }: OpenWatch): string {
    return nameOn(this.#worker, `${request.resource}-${number}`);
  }

  /** In the order in which they were opened; what ends meanwhile is left out. */
  all(): IterableIterator<OpenWatch> {
    return this.#watches.values();
  }

  /** Ends it cleanly; false: there is none of that name. */
  end(name: string): boolean {
    for (const open of this.#watches.values()) {
      if (this.nameOf(open) !== name) continue;
      open.watch.end('ended-by-admin');
      return true;
    }
    return false;
  }

  readonly #forget = (watch: ObjectWatch): void => {
    this.#watches.delete(watch);
  };
}
