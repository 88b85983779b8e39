/** One server for the whole file: each test has keys of its own. */
import { afterAll, beforeAll, describe } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { nextPrefix, type StoreUnderTest } from '../../support/store/store-under-test.ts';
import { describeStorageContract } from './storage-contract.ts';

const version = etcdVersion();

describe.skipIf(version === undefined)(`etcd ${version ?? 'is not on the PATH: skipped'}`, () => {
  let shared: EtcdCluster | undefined;
  beforeAll(async () => {
    shared = await startEtcd();
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
  });

  const open = async (): Promise<StoreUnderTest> => {
    const store = await openEtcdStore({ endpoints: shared!.urls });
    return { store, prefix: nextPrefix(), [Symbol.asyncDispose]: () => store.close() };
  };
  describeStorageContract('etcd', open);
});
