/** An embedded store in a folder of its own that goes with it. Without fsync: these tests do not pull the plug. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { type DurableStoreUnderTest, nextPrefix } from './store-under-test.ts';

export async function openTemporaryEmbedded(): Promise<DurableStoreUnderTest> {
  const dataDir = await mkdtemp(join(tmpdir(), 'longwatch-contract-'));
  const open = () => openEmbeddedStore({ dataDir, durability: 'none' });
  const first = await open();
  let newest = first;
  return {
    store: first,
    prefix: nextPrefix(),
    async reopen() {
      await newest.close();
      newest = await open();
      return newest;
    },
    async [Symbol.asyncDispose]() {
      await newest.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
