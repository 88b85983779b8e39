/**
 * The lifetime of objects that the store forgets by itself (events): a lease of the store, shared by those that come
 * close together. Always true: an object lives at least its time, and at most a minute longer. A lease that could not be
 * had is asked for again with the next object.
 */
import { wallNow } from '../../api/index.ts';
import type { LeaseId, Store } from '../../store/index.ts';

const SHARE_MS = 60_000;
const SHARE_SECONDS = 60;

export class SharedLease {
  readonly #store: Store;
  readonly #ttlSeconds: number;
  #granted: Promise<{ readonly id: LeaseId; readonly until: number }> | undefined;

  constructor(store: Store, ttlSeconds: number) {
    this.#store = store;
    this.#ttlSeconds = ttlSeconds;
  }

  async id(): Promise<LeaseId> {
    const shared = await this.#granted?.catch(() => undefined);
    if (shared && shared.until > wallNow()) return shared.id;
    this.#granted = this.#store
      .grantLease(this.#ttlSeconds + SHARE_SECONDS)
      .then(({ id }) => ({ id, until: wallNow() + SHARE_MS }));
    return (await this.#granted).id;
  }
}
