/**
 * The messages of etcd's Lease and Maintenance services. Lease ids are bigints throughout: they use all 63 bits.
 * Decoding fails with a ProtobufError.
 */
import { Reader, Writer } from '../../../api/protobuf.ts';
import { asBuffer, readKey } from '../../key-value-record.ts';
import type { Lease, LeaseId, LeaseInfo, Revision } from '../../kv.ts';
import { readHeader } from './messages.ts';

export const emptyRequest: Uint8Array = new Uint8Array(0);

export function encodeLeaseGrant(ttlSeconds: number, id: LeaseId): Uint8Array {
  const writer = new Writer().int(1, ttlSeconds);
  if (id !== 0n) writer.int64(2, id);
  return writer.finish();
}

/** The request of keep-alive and revoke. */
export function encodeLeaseId(id: LeaseId): Uint8Array {
  return new Writer().int64(1, id).finish();
}

export function encodeLeaseTimeToLive(id: LeaseId, keys: boolean): Uint8Array {
  return new Writer().int64(1, id).bool(2, keys).finish();
}

/** The answer to grant and keep-alive. */
export function decodeLease(bytes: Uint8Array): Lease {
  const reader = new Reader(bytes);
  let id = 0n;
  let ttlSeconds = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 16) id = reader.int64();
    else if (tag === 24) ttlSeconds = reader.int();
    else reader.skip(tag);
  }
  return { id, ttlSeconds };
}

/** Undefined if etcd knows no such lease. */
export function decodeLeaseInfo(bytes: Uint8Array): LeaseInfo | undefined {
  const reader = new Reader(asBuffer(bytes));
  let id = 0n;
  let remainingSeconds = 0;
  let grantedTtlSeconds = 0;
  const keys: string[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 16) id = reader.int64();
    else if (tag === 24) remainingSeconds = reader.int();
    else if (tag === 32) grantedTtlSeconds = reader.int();
    else if (tag === 42) keys.push(readKey(reader));
    else reader.skip(tag);
  }
  if (remainingSeconds < 0) return undefined;
  return { id, grantedTtlSeconds, remainingSeconds, keys: keys.sort() };
}

export function decodeLeases(bytes: Uint8Array): LeaseId[] {
  const reader = new Reader(bytes);
  const ids: LeaseId[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag !== 18) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.enter();
    while (reader.hasMore) {
      const field = reader.tag();
      if (field === 8) ids.push(reader.int64());
      else reader.skip(field);
    }
    reader.leave(outer);
  }
  return ids.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

export type MemberStatus = {
  readonly version: string;
  readonly revision: Revision;
  readonly sizeBytes: number;
  readonly sizeInUseBytes: number;
  readonly hasLeader: boolean;
  readonly errors: readonly string[];
};

export function decodeStatus(bytes: Uint8Array): MemberStatus {
  const reader = new Reader(bytes);
  let version = '';
  let revision = 0;
  let sizeBytes = 0;
  let sizeInUseBytes = 0;
  let hasLeader = false;
  const errors: string[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) revision = readHeader(reader);
    else if (tag === 18) version = reader.string();
    else if (tag === 24) sizeBytes = reader.int();
    else if (tag === 32) hasLeader = reader.uint64() !== 0n;
    else if (tag === 66) errors.push(reader.string());
    else if (tag === 72) sizeInUseBytes = reader.int();
    else reader.skip(tag);
  }
  return { version, revision, sizeBytes, sizeInUseBytes, hasLeader, errors };
}

/** A piece of a snapshot; the last piece is the checksum. */
export function decodeSnapshotPiece(bytes: Uint8Array): Uint8Array {
  const reader = new Reader(bytes);
  let blob: Uint8Array = emptyRequest;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 26) blob = reader.bytes();
    else reader.skip(tag);
  }
  return blob;
}
