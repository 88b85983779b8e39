/**
 * One record of the log: a KeyValue as etcd encodes it (key-value-record.ts), so that a front that speaks etcd's
 * protocol can send it as it lies here, then its checksum. A delete is a record with a key and a modRevision only.
 *
 *   mvccpb.KeyValue | crc32 (4 bytes, little endian)
 *
 * In that place and order of bytes the checksum of a whole, intact record is always the same number.
 */
import { crc32 } from 'node:zlib';
import { Reader, varintSize } from '../../../api/protobuf.ts';
import { decodeKeyValue, keyValueSize, readKey, writeKeyValue } from '../../key-value-record.ts';
import type { Key, KeyValue } from '../../kv.ts';
import type { Version } from './key-index.ts';

const CRC_BYTES = 4;
const CRC_OF_INTACT = 0x2144df1c;

export function encodeRecord(kv: KeyValue): Buffer {
  const size = keyValueSize(kv);
  const record = Buffer.allocUnsafe(size + CRC_BYTES);
  writeKeyValue(kv, record, 0);
  record.writeUInt32LE(crc32(record.subarray(0, size)), size);
  return record;
}

/** Whether the bytes are what was written. */
export function isIntact(record: Uint8Array): boolean {
  return record.length > CRC_BYTES && crc32(record) === CRC_OF_INTACT;
}

/** `value` is a window on `record`. */
export function decodeRecord(record: Uint8Array): KeyValue {
  return decodeKeyValue(record.subarray(0, record.length - CRC_BYTES));
}

/** What the index must know of a record; the value is passed over. */
export function readVersion(record: Buffer, sub: number): { readonly key: Key; readonly version: Version } {
  const reader = new Reader(record, 0, record.length - CRC_BYTES);
  let key = '';
  let createRevision = 0;
  let modRevision = 0;
  let version = 0;
  let lease = 0n;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === TAGS.key) key = readKey(reader);
    else if (tag === TAGS.createRevision) createRevision = reader.int();
    else if (tag === TAGS.modRevision) modRevision = reader.int();
    else if (tag === TAGS.version) version = reader.int();
    else if (tag === TAGS.lease) lease = reader.int64();
    else reader.skip(tag);
  }
  return { key, version: { modRevision, sub, createRevision, version, lease } };
}

/**
 * The pair of a put whose facts the index knows already: only the value is taken from the record, at the place where
 * the canonical encoding must have put it.
 */
export function keyValueOf(key: Key, version: Version, record: Buffer): KeyValue {
  let at =
    1 +
    varintSize(key.length) +
    key.length +
    (1 + varintSize(version.createRevision)) +
    (1 + varintSize(version.modRevision)) +
    (1 + varintSize(version.version));
  let length = 0;
  // Behind an empty value comes the checksum, whose first byte can be anything.
  if (at < record.length - CRC_BYTES && record[at] === TAGS.value) {
    at++;
    for (let shift = 0; ; shift += 7) {
      const byte = record[at++]!;
      length += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  return withValue(key, version, record.subarray(at, at + length));
}

const TAGS = { key: 0x0a, createRevision: 0x10, modRevision: 0x18, version: 0x20, value: 0x2a, lease: 0x30 } as const;

export function withValue(key: Key, version: Version, value: Uint8Array): KeyValue {
  const { createRevision, modRevision, version: count, lease } = version;
  return { key, value, createRevision, modRevision, version: count, lease };
}
