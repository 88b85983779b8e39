/** The suite and the model hold each other: where they differ, one of them is wrong about the contract. */
import { ModelStore } from '../support/store/model-store.ts';
import { nextPrefix } from '../support/store/store-under-test.ts';
import { describeFreshStoreContract, describeStoreContract } from './store-contract.ts';

const open = async () => {
  const store = new ModelStore();
  return { store, prefix: nextPrefix(), [Symbol.asyncDispose]: () => store.close() };
};

describeStoreContract('the model', open, { leasesExpire: false });
describeFreshStoreContract('the model', open);
