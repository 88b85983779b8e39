/**
 * The watches that are open, by name, with who opened them: for those who look. A name is given once and never again
 * while the server runs.
 */
import type { ObjectWatch } from '../../storage/object-watch.ts';
import { nameOn } from '../../workers/place.ts';
import type { RequestFacts } from './request-facts.ts';

export type OpenWatch = {
  /** `pods-12`; of the third worker of a server `pods-12-w3` */
  readonly name: string;
  readonly number: number;
  readonly watch: ObjectWatch;
  readonly request: RequestFacts;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly endsAt: number;
};

export class OpenWatches {
  readonly #watches = new Map<string, OpenWatch>();
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
    const name = nameOn(this.#worker, `${request.resource}-${number}`);
    const openedAt = Date.now();
    this.#watches.set(name, { name, number, watch, request, openedAt, endsAt: openedAt + timeoutMs });
    watch.onEnd(() => this.#watches.delete(name));
  }

  /** In the order in which they were opened; what ends meanwhile is left out. */
  all(): IterableIterator<OpenWatch> {
    return this.#watches.values();
  }

  /** Ends it cleanly; false: there is none of that name. */
  end(name: string): boolean {
    const open = this.#watches.get(name);
    open?.watch.end('ended-by-admin');
    return open !== undefined;
  }
}
