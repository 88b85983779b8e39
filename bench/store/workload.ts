/** What is written: keys like those of Kubernetes, values of 1 KB, in the two transactions that it uses. */
import { randomBytes } from 'node:crypto';
import type { Revision, Store } from '../../src/store/index.ts';
import { inFlight } from '../lib/measure.ts';

export const VALUE_BYTES = 1024;
const value = randomBytes(VALUE_BYTES);

/** Numbered keys under one prefix, and the revision that each was last given here. */
export class KeySet {
  readonly prefix: string;
  readonly #store: Store;
  readonly #revisions: Revision[] = [];

  constructor(store: Store, name: string) {
    this.#store = store;
    this.prefix = `/registry/configmaps/${name}/`;
  }

  key(i: number): string {
    return `${this.prefix}object-${String(i).padStart(7, '0')}`;
  }

  /** Puts a key that must not be there yet. */
  async create(i: number): Promise<void> {
    const key = this.key(i);
    const { succeeded, revision } = await this.#store.txn({
      compare: [{ range: { key }, target: 'modRevision', is: '=', than: 0 }],
      then: [{ kind: 'put', key, value }],
    });
    if (!succeeded) throw new Error(`Cannot create ${JSON.stringify(key)}: it is there already`);
    this.#revisions[i] = revision;
  }

  /** Puts a key again, on the condition that nobody else has; asks for the other's value if so. */
  async update(i: number): Promise<void> {
    const key = this.key(i);
    const { succeeded, revision } = await this.#store.txn({
      compare: [{ range: { key }, target: 'modRevision', is: '=', than: this.#revisions[i]! }],
      then: [{ kind: 'put', key, value }],
      else: [{ kind: 'range', range: { key } }],
    });
    if (!succeeded) throw new Error(`Cannot update ${JSON.stringify(key)}: it has changed in between`);
    this.#revisions[i] = revision;
  }

  async createAll(count: number, signal: AbortSignal): Promise<void> {
    await inFlight(count, 256, (i) => this.create(i), { signal });
  }
}
