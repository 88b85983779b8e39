/** The store: its contract and its implementations. */
export type { AutoCompaction } from './embedded/auto-compaction.ts';
export { type EmbeddedStoreOptions, openEmbeddedStore } from './embedded/embedded-store.ts';
export { type RestoreOptions, restoreEmbeddedStore } from './embedded/snapshot/snapshot-file.ts';
export { isStoreError, StoreError, type StoreErrorCode } from './errors.ts';
export { type EtcdStoreOptions, openEtcdStore } from './etcd/etcd-store.ts';
export type { EtcdTlsOptions } from './etcd/grpc/endpoint.ts';
export { type EtcdFront, type EtcdFrontOptions, type EtcdFrontTls, startEtcdFront } from './etcd-front/etcd-front.ts';
export { everyKey, keyFromBytes, keyFromText, keyToBytes, keyToText } from './keys.ts';
export type {
  CallOptions,
  Compare,
  GetResult,
  Key,
  KeyRange,
  KeyValue,
  Lease,
  LeaseId,
  LeaseInfo,
  Op,
  OpResult,
  RangeOptions,
  RangeResult,
  ReadOptions,
  Revision,
  SnapshotInfo,
  Store,
  StoreStatus,
  Txn,
  TxnResult,
  Watch,
  WatchBatch,
  WatchEvent,
  WatchOptions,
} from './kv.ts';
export type { SideLine } from './shared/shared-messages.ts';
export { openSharedStore } from './shared/shared-store.ts';
export { shareStore } from './shared/store-owner.ts';
