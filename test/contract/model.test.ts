/** The suite and the model hold each other: where they differ, one of them is wrong about the contract. */
import { ModelStore } from '../model/model-store.ts';
import { describeFreshStoreContract, describeStoreContract } from './store-contract.ts';
import { nextPrefix } from './store-under-test.ts';

const open = async () => {
  const store = new ModelStore();
  return { store, prefix: nextPrefix(), [Symbol.asyncDispose]: () => store.close() };
};

describeStoreContract('the model', open, { leasesExpire: false });
describeFreshStoreContract('the model', open);
