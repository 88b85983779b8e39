/**
 * The lifetime of objects that the store forgets by itself (events): a lease of the store, shared by those that come
 * close together. Always true: an object lives at least its time, and longer by a twentieth of that at most, a second at
 * least and a minute at most. A lease that could not be had is asked for again with the next object.
 */
import { wallNow } from '../../../api/index.ts';
import type { LeaseId, Store } from '../../../store/index.ts';

const MAX_SHARE_SECONDS = 60;
/** Of the time that objects live. */
const SHARE = 1 / 20;

export class SharedLease {
  readonly #store: Store;
  readonly #ttlSeconds: number;
  readonly #shareSeconds: number;
  #granted: Promise<{ readonly id: LeaseId; readonly until: number }> | undefined;

  constructor(store: Store, ttlSeconds: number) {
    this.#store = store;
    this.#ttlSeconds = ttlSeconds;
    this.#shareSeconds = Math.min(Math.ceil(ttlSeconds * SHARE), MAX_SHARE_SECONDS);
  }

  async id(): Promise<LeaseId> {
    const shared = await this.#granted?.catch(() => undefined);
    if (shared && shared.until > wallNow()) return shared.id;
    this.#granted = this.#store
      .grantLease(this.#ttlSeconds + this.#shareSeconds)
      .then(({ id }) => ({ id, until: wallNow() + this.#shareSeconds * 1000 }));
    return (await this.#granted).id;
  }
}
