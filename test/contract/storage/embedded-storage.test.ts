import { openTemporaryEmbedded } from '../../support/store/embedded-under-test.ts';
import { describeStorageContract } from './storage-contract.ts';

describeStorageContract('the embedded store', openTemporaryEmbedded);
