/** One server for the whole file; only what needs a fresh or a restarted server starts its own. */
import { afterAll, beforeAll, describe } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../support/etcd-server.ts';
import { keepsDeletesAtCompaction } from '../support/store/etcd-versions.ts';
import { type DurableStoreUnderTest, nextPrefix, type StoreUnderTest } from '../support/store/store-under-test.ts';
import { describeDurableStoreContract, describeFreshStoreContract, describeStoreContract } from './store-contract.ts';

const version = etcdVersion();

describe.skipIf(version === undefined)(`etcd ${version ?? 'is not on the PATH: skipped'}`, () => {
  let shared: EtcdCluster | undefined;
  beforeAll(async () => {
    shared = await startEtcd();
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
  });

  const openShared = async (): Promise<StoreUnderTest> => {
    const store = await openEtcdStore({ endpoints: shared!.urls });
    return { store, prefix: nextPrefix(), [Symbol.asyncDispose]: () => store.close() };
  };

  const openAlone = async (): Promise<DurableStoreUnderTest> => {
    const cluster = await startEtcd();
    const first = await openEtcdStore({ endpoints: cluster.urls });
    let newest = first;
    return {
      store: first,
      prefix: nextPrefix(),
      async reopen() {
        await newest.close();
        for (const member of cluster.members) await member.stop();
        for (const member of cluster.members) await member.start();
        newest = await openEtcdStore({ endpoints: cluster.urls });
        return newest;
      },
      async [Symbol.asyncDispose]() {
        await newest.close();
        await cluster[Symbol.asyncDispose]();
      },
    };
  };

  describeStoreContract('etcd', openShared, { keepsDeletes: keepsDeletesAtCompaction(version ?? '') });
  describeFreshStoreContract('etcd', openAlone);
  describeDurableStoreContract('etcd', openAlone);
});
