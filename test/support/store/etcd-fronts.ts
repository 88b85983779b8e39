/** The two ways in which a store is served as an etcd: by the thread that has it, and by one of its own. */
import { startFrontInThread } from '../../../src/server/workers/etcd-front-owner.ts';
import { type EtcdFront, startEtcdFront } from '../../../src/store/etcd-front/etcd-front.ts';
import type { Store } from '../../../src/store/kv.ts';

const urls = ['http://127.0.0.1:0'];
const noTls = { cert: '', key: '', clientAuthorities: [] };

export const etcdFronts: readonly (readonly [where: string, start: (store: Store) => Promise<EtcdFront>])[] = [
  ['in the thread of the store', (store) => startEtcdFront(store, { urls })],
  ['in a thread of its own', (store) => startFrontInThread({ store, urls, tls: noTls, log: () => {} })],
];
