/**
 * A snapshot of etcd, as `etcdctl snapshot save` leaves it, in the words of a snapshot of ours: for restoring it as an
 * embedded store. Its checksum is checked before anything of it is believed. Users, roles and members stay behind.
 *
 * It fails with Corrupt.
 */
import type { FileHandle } from 'node:fs/promises';
import { Reader } from '../../api/protobuf.ts';
import { StoreError } from '../errors.ts';
import { decodeKeyValue } from '../key-value-record.ts';
import { type BboltEntry, BboltReader } from './bbolt-reader.ts';
import type { EtcdRecord, EtcdSnapshot } from './etcd-snapshot.ts';
import { decodeRevisionKey } from './revision-key.ts';

/** `bytes`: how much of the file comes before its checksum. */
export async function openEtcdSnapshot(handle: FileHandle, bytes: number): Promise<EtcdSnapshot> {
  const file = await BboltReader.open(handle, bytes);
  const marks = { finishedCompactRev: 0, scheduledCompactRev: 0 };
  for await (const leaf of file.entries('meta'))
    for (const { key, value } of leaf) {
      const name = key.toString();
      if (name in marks) marks[name as keyof typeof marks] = decodeRevisionKey(value)?.revision ?? 0;
    }
  const leases: [string, number][] = [];
  for await (const leaf of file.entries('lease')) leases.push(...leaf.map(({ value }) => readLease(value)));
  const compactRevision = Math.max(marks.finishedCompactRev, marks.scheduledCompactRev);
  let revision = Math.max(1, compactRevision);
  for await (const leaf of file.entries('key'))
    for (const { key } of leaf) revision = Math.max(revision, decodeRevisionKey(key)?.revision ?? 0);
  return { revision, compactRevision, leases, records: () => recordsOf(file) };
}

const deleted = { value: Buffer.alloc(0), createRevision: 0, version: 0, lease: 0n };

async function* recordsOf(file: BboltReader): AsyncGenerator<EtcdRecord[], void, void> {
  for await (const leaf of file.entries('key')) yield leaf.map(recordOf);
}

function recordOf({ key, value }: BboltEntry): EtcdRecord {
  const position = decodeRevisionKey(key);
  if (!position)
    throw new StoreError('Corrupt', `Cannot read the snapshot of etcd: ${key.toString('hex')} is no revision`);
  const { revision, sub, isDelete } = position;
  const kv = decodeKeyValue(value);
  return { revision, sub, kv: isDelete ? { ...deleted, key: kv.key, modRevision: revision } : kv };
}

function readLease(bytes: Buffer): [string, number] {
  const reader = new Reader(bytes);
  let id = 0n;
  let ttl = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) id = reader.int64();
    else if (tag === 16) ttl = reader.int();
    else reader.skip(tag);
  }
  return [String(id), ttl];
}
