import { openTemporaryEmbedded } from '../support/store/embedded-under-test.ts';
import { describeDurableStoreContract, describeFreshStoreContract, describeStoreContract } from './store-contract.ts';

describeStoreContract('the embedded store', openTemporaryEmbedded);
describeFreshStoreContract('the embedded store', openTemporaryEmbedded);
describeDurableStoreContract('the embedded store', openTemporaryEmbedded);
