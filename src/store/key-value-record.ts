/**
 * One KeyValue as bytes: mvccpb.KeyValue of etcd, which is also the record of our own log, so that a record can be
 * sent to an etcd client as it lies on the disk.
 *
 * Always true: the bytes are canonical (fields in order, zero fields left out), one Buffer of exactly their size.
 * Decoding copies nothing but the key: `value` is a window on the input.
 *
 * It fails with a ProtobufError on bytes that are no such message.
 */
import { Reader, varintSize, wireType, writeVarint, writeVarint64 } from '../api/protobuf.ts';
import type { KeyValue } from './kv.ts';

const tags = {
  key: 8 * 1 + wireType.lengthDelimited,
  createRevision: 8 * 2,
  modRevision: 8 * 3,
  version: 8 * 4,
  value: 8 * 5 + wireType.lengthDelimited,
  lease: 8 * 6,
} as const;

const noBytes: Uint8Array = new Uint8Array(0);

export function encodeKeyValue(kv: KeyValue): Buffer {
  const record = Buffer.allocUnsafe(keyValueSize(kv));
  writeKeyValue(kv, record, 0);
  return record;
}

/** The exact length of the encoded record. */
export function keyValueSize({ key, value, createRevision, modRevision, version, lease }: KeyValue): number {
  return (
    (key.length > 0 ? 1 + varintSize(key.length) + key.length : 0) +
    (createRevision !== 0 ? 1 + varintSize(createRevision) : 0) +
    (modRevision !== 0 ? 1 + varintSize(modRevision) : 0) +
    (version !== 0 ? 1 + varintSize(version) : 0) +
    (value.length > 0 ? 1 + varintSize(value.length) + value.length : 0) +
    (lease !== 0n ? 1 + varint64Size(lease) : 0)
  );
}

/** Writes the record at `offset` of a buffer that has room for it; answers the offset after it. */
export function writeKeyValue(kv: KeyValue, target: Buffer, offset: number): number {
  const { key, value, createRevision, modRevision, version, lease } = kv;
  let at = offset;
  if (key.length > 0) {
    target[at++] = tags.key;
    at = writeVarint(target, at, key.length);
    at += target.write(key, at, 'latin1');
  }
  if (createRevision !== 0) {
    target[at++] = tags.createRevision;
    at = writeVarint(target, at, createRevision);
  }
  if (modRevision !== 0) {
    target[at++] = tags.modRevision;
    at = writeVarint(target, at, modRevision);
  }
  if (version !== 0) {
    target[at++] = tags.version;
    at = writeVarint(target, at, version);
  }
  if (value.length > 0) {
    target[at++] = tags.value;
    at = writeVarint(target, at, value.length);
    target.set(value, at);
    at += value.length;
  }
  if (lease !== 0n) {
    target[at++] = tags.lease;
    at = writeVarint64(target, at, lease);
  }
  return at;
}

export function decodeKeyValue(bytes: Uint8Array): KeyValue {
  return readKeyValue(new Reader(asBuffer(bytes)));
}

/** Reads fields up to the end of the reader, which must stand on a Buffer. */
export function readKeyValue(reader: Reader): KeyValue {
  let key = '';
  let value = noBytes;
  let createRevision = 0;
  let modRevision = 0;
  let version = 0;
  let lease = 0n;
  while (reader.hasMore) {
    const tag = reader.tag();
    switch (tag) {
      case tags.key:
        key = readKey(reader);
        break;
      case tags.createRevision:
        createRevision = reader.int();
        break;
      case tags.modRevision:
        modRevision = reader.int();
        break;
      case tags.version:
        version = reader.int();
        break;
      case tags.value:
        value = reader.bytes();
        break;
      case tags.lease:
        lease = reader.int64();
        break;
      default:
        reader.skip(tag);
    }
  }
  return { key, value, createRevision, modRevision, version, lease };
}

/** A length-delimited field as a key: one character per byte. */
export function readKey(reader: Reader): string {
  const length = reader.span();
  return (reader.buffer as Buffer).toString('latin1', reader.position - length, reader.position);
}

/** The same memory as a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function varint64Size(value: bigint): number {
  if (value < 0n) return 10;
  let size = 1;
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) size++;
  return size;
}
