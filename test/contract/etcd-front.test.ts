/** An embedded store, served as an etcd and used through our client of etcd: what comes out is what went in. */
import { describe } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { startEtcdFront } from '../../src/store/etcd-front/etcd-front.ts';
import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import type { DurableStoreUnderTest } from '../support/store/store-under-test.ts';
import { describeDurableStoreContract, describeFreshStoreContract, describeStoreContract } from './store-contract.ts';

async function openServed(): Promise<DurableStoreUnderTest> {
  const embedded = await openTemporaryEmbedded();
  const serve = async (store: typeof embedded.store) => {
    const front = await startEtcdFront(store, { urls: ['http://127.0.0.1:0'] });
    return { front, store: await openEtcdStore({ endpoints: [...front.urls] }) };
  };
  let served = await serve(embedded.store);
  const close = async () => {
    await served.store.close();
    await served.front[Symbol.asyncDispose]();
  };
  return {
    store: served.store,
    prefix: embedded.prefix,
    async reopen() {
      await close();
      served = await serve(await embedded.reopen());
      return served.store;
    },
    async [Symbol.asyncDispose]() {
      await close();
      await embedded[Symbol.asyncDispose]();
    },
  };
}

describe('the embedded store served as an etcd', () => {
  describeStoreContract('it', openServed);
  describeFreshStoreContract('it', openServed);
  describeDurableStoreContract('it', openServed);
});
