/**
 * One record of the log: the checksum of a KeyValue, then the KeyValue as etcd encodes it (key-value-record.ts), so
 * that a front that speaks etcd's protocol can send it as it lies here. A delete is a record with a key and a
 * modRevision only.
 *
 *   crc32 (4 bytes, little endian) | mvccpb.KeyValue
 */
import { crc32 } from 'node:zlib';
import { varintSize } from '../../api/protobuf.ts';
import { asBuffer, decodeKeyValue, keyValueSize, writeKeyValue } from '../key-value-record.ts';
import type { Key, KeyValue } from '../kv.ts';
import type { Version } from './key-index.ts';

const HEADER_BYTES = 4;

export function encodeRecord(kv: KeyValue): Buffer {
  const record = Buffer.allocUnsafe(HEADER_BYTES + keyValueSize(kv));
  writeKeyValue(kv, record, HEADER_BYTES);
  record.writeUInt32LE(crc32(record.subarray(HEADER_BYTES)), 0);
  return record;
}

/** Whether the bytes are what was written. */
export function isIntact(record: Uint8Array): boolean {
  if (record.length <= HEADER_BYTES) return false;
  const bytes = asBuffer(record);
  return bytes.readUInt32LE(0) === crc32(bytes.subarray(HEADER_BYTES));
}

/** `value` is a window on `record`. */
export function decodeRecord(record: Uint8Array): KeyValue {
  return decodeKeyValue(record.subarray(HEADER_BYTES));
}

/**
 * The pair of a put whose facts the index knows already: only the value is taken from the record, at the place where
 * the canonical encoding must have put it.
 */
export function keyValueOf(key: Key, version: Version, record: Buffer): KeyValue {
  let at =
    HEADER_BYTES +
    (1 + varintSize(key.length) + key.length) +
    (1 + varintSize(version.createRevision)) +
    (1 + varintSize(version.modRevision)) +
    (1 + varintSize(version.version));
  let length = 0;
  if (record[at] === VALUE_TAG) {
    at++;
    for (let shift = 0; ; shift += 7) {
      const byte = record[at++]!;
      length += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  return withValue(key, version, record.subarray(at, at + length));
}

const VALUE_TAG = (5 << 3) | 2;

export function withValue(key: Key, version: Version, value: Uint8Array): KeyValue {
  const { createRevision, modRevision, version: count, lease } = version;
  return { key, value, createRevision, modRevision, version: count, lease };
}
