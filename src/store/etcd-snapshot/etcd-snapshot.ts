/** What a snapshot of etcd holds, as far as a store is concerned, whoever reads or writes it. */
import type { KeyValue, Revision } from '../kv.ts';

/** One change: a pair, or a delete if it has no createRevision. */
export type EtcdRecord = { readonly revision: Revision; readonly sub: number; readonly kv: KeyValue };

export type EtcdSnapshot = {
  readonly revision: Revision;
  readonly compactRevision: Revision;
  /** Id and TTL in seconds. */
  readonly leases: readonly (readonly [string, number])[];
  /** In order of revisions, some at a time; from the beginning with every call. */
  records(): AsyncIterable<readonly EtcdRecord[]>;
};
