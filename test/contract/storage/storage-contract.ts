/** The contract of object-storage.ts as tests. Every implementation runs all of it, over every store. */
import { describe } from 'vitest';
import type { Open } from '../../support/store/store-under-test.ts';
import { describeReads } from './reads.ts';
import { type Implementation, opening } from './storage-under-test.ts';
import { describeWatches } from './watches.ts';
import { describeWrites } from './writes.ts';

const names: Readonly<Record<Implementation, string>> = {
  direct: 'stored objects without a watch cache',
  cached: 'stored objects with a watch cache',
  followed: 'stored objects with a watch cache that follows the one of another thread',
  short: 'stored objects with a watch cache that forgets',
  converted: 'stored objects that are converted as they are read',
};

export function describeStorageContract(store: string, open: Open): void {
  for (const [implementation, name] of Object.entries(names) as [Implementation, string][])
    describe(`${name}, on ${store}, keep the contract:`, () => {
      const openStorage = opening(open, implementation);
      describeReads(openStorage);
      describeWrites(openStorage);
      describeWatches(openStorage);
    });
}
