/**
 * A snapshot of ours as one of etcd: the database that etcd would have, for `etcdctl snapshot restore` and whoever reads
 * such files. It holds all revisions that are not compacted, deletes and leases included.
 *
 * Always true: what a compaction has forgotten is left out, also where our own log still has it: etcd counts versions
 * from the first record it finds. The checksum that etcd appends is not part of it.
 */
import type { FileHandle } from 'node:fs/promises';
import { Writer } from '../../api/protobuf.ts';
import { encodeKeyValue } from '../key-value-record.ts';
import type { Key, Revision } from '../kv.ts';
import { BboltWriter } from './bbolt-writer.ts';
import type { EtcdRecord, EtcdSnapshot } from './etcd-snapshot.ts';
import { encodeRevisionKey } from './revision-key.ts';

/** Made by every etcd; users, roles and members are those of the cluster that it is restored to. */
const EMPTY_BUCKETS = ['alarm', 'auth', 'authRoles', 'authUsers', 'cluster', 'members', 'members_removed'];

/** Answers how long it is. */
export async function writeEtcdSnapshot(handle: FileHandle, snapshot: EtcdSnapshot): Promise<number> {
  const { revision, compactRevision, leases } = snapshot;
  const writer = new BboltWriter(handle);
  const isForgotten = await forgottenIn(snapshot, compactRevision);
  for await (const records of snapshot.records()) {
    for (const record of records) if (!isForgotten(record)) writer.add(keyOf(record), bytesOf(record));
    await writer.flush();
  }
  writer.endBucket('key');
  for (const [id, ttlSeconds] of leases.map(([text, ttl]) => [BigInt(text), ttl] as const).sort(byId))
    writer.add(int64(id), Buffer.from(new Writer().int64(1, id).int(2, ttlSeconds).finish()));
  writer.endBucket('lease');
  writer.add(Buffer.from('consistent_index'), int64(BigInt(revision)));
  if (compactRevision > 0) {
    const mark = encodeRevisionKey({ revision: compactRevision, sub: 0, isDelete: false });
    writer.add(Buffer.from('finishedCompactRev'), mark);
    writer.add(Buffer.from('scheduledCompactRev'), mark);
  }
  writer.add(Buffer.from('term'), int64(1n));
  writer.endBucket('meta');
  for (const name of EMPTY_BUCKETS) writer.endBucket(name);
  return await writer.finish();
}

function isDelete({ kv }: EtcdRecord): boolean {
  return kv.createRevision === 0;
}

function keyOf(record: EtcdRecord): Buffer {
  return encodeRevisionKey({ revision: record.revision, sub: record.sub, isDelete: isDelete(record) });
}

/** A delete of etcd's has a key and nothing else. */
function bytesOf(record: EtcdRecord): Buffer {
  return encodeKeyValue(isDelete(record) ? { ...record.kv, modRevision: 0 } : record.kv);
}

/** A key's newest version at or below the compaction is kept, unless that is a delete from before it. */
async function forgottenIn(
  snapshot: EtcdSnapshot,
  compactRevision: Revision,
): Promise<(record: EtcdRecord) => boolean> {
  const newest = new Map<Key, { readonly revision: Revision; readonly sub: number }>();
  if (compactRevision > 0)
    for await (const records of snapshot.records()) {
      for (const { revision, sub, kv } of records)
        if (revision <= compactRevision) newest.set(kv.key, { revision, sub });
      if (records.some(({ revision }) => revision > compactRevision)) break;
    }
  return (record) => {
    const { revision, sub, kv } = record;
    if (revision > compactRevision) return false;
    const kept = newest.get(kv.key);
    if (kept?.revision !== revision || kept.sub !== sub) return true;
    return isDelete(record) && revision < compactRevision;
  };
}

function byId([a]: readonly [bigint, number], [b]: readonly [bigint, number]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
