/**
 * etcd's Lease, Maintenance and Cluster services: one member, which leads.
 *
 * A snapshot is the store's own format with its checksum last, as etcd sends it: what a client has saved can be restored
 * as a store of ours, not of etcd's. Moving space together (`Defragment`) is nothing to do here.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Reader } from '../../api/protobuf.ts';
import { everyKey, keyToBytes } from '../keys.ts';
import type { LeaseId, Store } from '../kv.ts';
import { refusals } from './front-error.ts';
import { CLUSTER_ID, MEMBER_ID, response, TERM } from './front-responses.ts';
import type { GrpcStream } from './grpc-stream.ts';
import type { Unary } from './kv-service.ts';

/** What the answers here conform to; clients allow themselves features by it. */
const ETCD_VERSION = '3.6.8';
const MAX_TTL_SECONDS = 9_000_000_000n;
const NO_SPACE = 1;
const CHECKSUM_BYTES = 32;
const PIECE_BYTES = 32 * 1024;
const HASH_PAGE = 1000;

export function adminService(store: Store, urls: () => readonly string[]): Record<string, Unary> {
  return {
    'Lease/LeaseGrant': async (bytes, signal) => {
      const { ttl, id } = readFields(bytes, { ttl: 1, id: 2 });
      if (ttl > MAX_TTL_SECONDS) throw refusals.tooLongLease();
      const lease = await store.grantLease(Number(ttl), { signal, ...(id !== 0n && { id }) });
      return response(await store.revision({ signal }), (w) => w.int64(2, lease.id).int(3, lease.ttlSeconds));
    },
    'Lease/LeaseRevoke': async (bytes, signal) => {
      await store.revokeLease(readFields(bytes, { id: 1 }).id, { signal });
      return response(await store.revision({ signal }));
    },
    'Lease/LeaseTimeToLive': async (bytes, signal) => {
      const { id, keys } = readFields(bytes, { id: 1, keys: 2 });
      const info = await store.leaseInfo(id, { signal });
      return response(await store.revision({ signal }), (w) => {
        w.int64(2, id).int(3, info ? Math.ceil(info.remainingSeconds) : -1);
        if (info) w.int(4, info.grantedTtlSeconds);
        if (keys !== 0n) for (const key of info?.keys ?? []) w.bytes(5, keyToBytes(key));
      });
    },
    'Lease/LeaseLeases': async (_bytes, signal) => {
      const ids = await store.leases({ signal });
      return response(await store.revision({ signal }), (w) => {
        for (const id of ids) w.message(2, (one) => one.int64(1, id));
      });
    },
    'Maintenance/Status': async (_bytes, signal) => {
      const { revision, sizeBytes, sizeInUseBytes, problems } = await store.status({ signal });
      return response(revision, (w) => {
        w.string(2, ETCD_VERSION).int(3, sizeBytes).int64(4, MEMBER_ID).int(5, revision).int(6, TERM).int(7, revision);
        for (const problem of problems) w.string(8, problem);
        w.int(9, sizeInUseBytes).string(11, '3.6.0');
      });
    },
    'Maintenance/Alarm': async (bytes, signal) => {
      const { action } = readFields(bytes, { action: 1 });
      const { revision, problems } = await store.status({ signal });
      return response(revision, (w) => {
        // The store judges anew with every write, so there is nothing to be disarmed.
        if (action === 0n && problems.length > 0) w.message(2, (alarm) => alarm.int64(1, MEMBER_ID).int(2, NO_SPACE));
      });
    },
    'Maintenance/Defragment': async (_bytes, signal) => response(await store.revision({ signal })),
    'Maintenance/HashKV': async (bytes, signal) => {
      const asked = Number(readFields(bytes, { revision: 1 }).revision);
      const { revision, compaction } = await store.status({ signal });
      const at = asked > 0 ? asked : revision;
      const hash = await hashAt(store, at, signal);
      return response(revision, (w) =>
        w
          .int(2, hash)
          .int(3, compaction?.revision ?? 0)
          .int(4, at),
      );
    },
    'Cluster/MemberList': async (_bytes, signal) =>
      response(await store.revision({ signal }), (w) => {
        w.message(2, (member) => {
          member.int64(1, MEMBER_ID).string(2, 'longwatch');
          for (const url of urls()) member.string(4, url);
        });
      }),
  };
}

export async function serveKeepAlive(store: Store, stream: GrpcStream): Promise<void> {
  const { signal } = stream;
  for await (const message of stream.messages()) {
    const { id } = readFields(message, { id: 1 });
    const ttl = await store.keepLeaseAlive(id, { signal });
    await stream.send(response(await store.revision({ signal }), (w) => w.int64(2, id).int(3, ttl)));
  }
}

export async function serveSnapshot(store: Store, stream: GrpcStream): Promise<void> {
  await stream.message();
  const { signal } = stream;
  const folder = await mkdtemp(join(tmpdir(), 'longwatch-snapshot-'));
  try {
    const file = join(folder, 'snapshot');
    await store.snapshot(file, { signal });
    const revision = await store.revision({ signal });
    const { size } = await stat(file);
    const end = size - CHECKSUM_BYTES;
    let left = end;
    const piece = (blob: Uint8Array) =>
      stream.send(response(revision, (w) => w.int(2, left).bytes(3, blob).string(4, ETCD_VERSION), blob.length + 64));
    for await (const chunk of createReadStream(file, { end: end - 1, highWaterMark: PIECE_BYTES })) {
      left -= (chunk as Buffer).length;
      await piece(chunk as Buffer);
    }
    for await (const checksum of createReadStream(file, { start: end })) await piece(checksum as Buffer);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of all pairs at a revision; equal for equal content, and that is all clients ask of it. */
async function hashAt(store: Store, revision: number, signal: AbortSignal): Promise<number> {
  let hash = Number(CLUSTER_ID);
  let start = '';
  for (;;) {
    const range = start === '' ? everyKey : { start };
    const { kvs, more } = await store.range(range, { revision, limit: HASH_PAGE, signal });
    for (const { key, value, modRevision } of kvs) {
      hash = crc32(keyToBytes(key), hash);
      hash = crc32(Buffer.from(String(modRevision)), crc32(value, hash));
    }
    const last = kvs[kvs.length - 1];
    if (!more || !last) return hash;
    start = `${last.key}\0`;
  }
}

/** The integers of a small message, by their field numbers; 0 where they are missing. */
function readFields<N extends string>(bytes: Uint8Array, fields: Readonly<Record<N, number>>): Record<N, LeaseId> {
  const reader = new Reader(bytes);
  const names = Object.entries(fields) as [N, number][];
  const values = Object.fromEntries(names.map(([name]) => [name, 0n])) as Record<N, bigint>;
  while (reader.hasMore) {
    const tag = reader.tag();
    const found = names.find(([, field]) => field * 8 === tag);
    if (found) values[found[0]] = reader.int64();
    else reader.skip(tag);
  }
  return values;
}
