/** The store of another thread, through a port; both ends of it are in this one. */
import { MessageChannel } from 'node:worker_threads';
import type { Store } from '../../src/store/kv.ts';
import { openSharedStore } from '../../src/store/shared/shared-store.ts';
import { shareStore } from '../../src/store/shared/store-owner.ts';
import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import type { DurableStoreUnderTest } from '../support/store/store-under-test.ts';
import { describeDurableStoreContract, describeFreshStoreContract, describeStoreContract } from './store-contract.ts';

async function openShared(): Promise<DurableStoreUnderTest> {
  const owned = await openTemporaryEmbedded();
  let newest = await share(owned.store);
  return {
    store: newest,
    prefix: owned.prefix,
    async reopen() {
      await newest.close();
      newest = await share(await owned.reopen());
      return newest;
    },
    async [Symbol.asyncDispose]() {
      await newest.close();
      await owned[Symbol.asyncDispose]();
    },
  };
}

async function share(store: Store): Promise<Store> {
  const { port1, port2 } = new MessageChannel();
  shareStore(store, port1);
  return openSharedStore(port2);
}

describeStoreContract('a shared store', openShared, { leasesExpire: false });
describeFreshStoreContract('a shared store', openShared);
describeDurableStoreContract('a shared store', openShared);
