/**
 * Ranges in etcd's protocol, as bytes and back, and what all its messages share: keys, headers, KeyValues. What our
 * contract says in kv.ts is on one side, etcd's field numbers on the other.
 *
 * Always true: a single key goes out without `range_end` (present but empty would mean "all keys from here"); keys
 * come back as binary strings, values as windows on the response. A range that can hold no key is not sent as such,
 * since `"\0"` as its end would mean everything.
 *
 * Encoding refuses bad keys with InvalidArgument; decoding fails with a ProtobufError.
 */
import { Reader, Writer } from '../../../api/protobuf.ts';
import { StoreError } from '../../errors.ts';
import { asBuffer, readKeyValue } from '../../key-value-record.ts';
import { boundsOf } from '../../keys.ts';
import type { KeyRange, KeyValue, RangeOptions, RangeResult } from '../../kv.ts';

export type WireRange = { readonly key: string; readonly end: string | undefined };

/** Every possible key is at or above it. */
const lowestKey = '\0';
/** As `range_end`: no upper bound. */
const unbounded = '\0';
/** Above each other, so that nothing lies between them. */
const nothing: WireRange = { key: '\x01', end: '\0\0' };

export function wireRange(range: KeyRange): WireRange {
  const { start, end } = boundsOf(range);
  if ('key' in range) return { key: start, end: undefined };
  if (end === lowestKey) return nothing; // from the empty string up to the lowest key there can be
  return { key: start === '' ? lowestKey : start, end: end ?? unbounded };
}

export function encodeRange(range: KeyRange, options: RangeOptions = {}): Uint8Array {
  const writer = new Writer();
  writeRange(writer, range, options);
  return writer.finish();
}

/** A linearizable read that touches no data: only its header matters. */
export const revisionRequest: Uint8Array = new Writer().binary(1, lowestKey).bool(9, true).finish();

export function encodeCompaction(revision: number, physical: boolean): Uint8Array {
  return new Writer().int(1, revision).bool(2, physical).finish();
}

export function decodeRange(bytes: Uint8Array): RangeResult {
  return readRange(new Reader(asBuffer(bytes)), 0);
}

/** Of any response: they all have the header as field 1. */
export function decodeHeaderRevision(bytes: Uint8Array): number {
  const reader = new Reader(bytes);
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) return readHeader(reader);
    reader.skip(tag);
  }
  return 0;
}

/** The revision in a ResponseHeader; its ids have 64 bits and are of no use to us. */
export function readHeader(reader: Reader): number {
  const outer = reader.enter();
  let revision = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 24) revision = reader.int();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return revision;
}

export function readEmbeddedKeyValue(reader: Reader): KeyValue {
  const outer = reader.enter();
  const kv = readKeyValue(reader);
  reader.leave(outer);
  return kv;
}

/** Refuses what etcd would read as something else: a negative or broken number often means "none" to it. */
export function checkCount(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new StoreError('InvalidArgument', `Cannot use ${name} ${value}: it must be a whole number, 0 or more`);
  return value;
}

export function writeRange(writer: Writer, range: KeyRange, options: RangeOptions): void {
  const { key, end } = wireRange(range);
  writer.binary(1, key);
  if (end !== undefined) writer.binary(2, end);
  if (options.limit !== undefined) writer.int(3, checkCount('limit', options.limit));
  if (options.revision !== undefined) writer.int(4, checkCount('revision', options.revision));
  if (options.keysOnly) writer.bool(8, true);
  if (options.countOnly) writer.bool(9, true);
}

export function readRange(reader: Reader, outerRevision: number): RangeResult {
  let revision = outerRevision;
  const kvs: KeyValue[] = [];
  let more = false;
  let count = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 18) kvs.push(readEmbeddedKeyValue(reader));
    else if (tag === 10) revision = readHeader(reader) || outerRevision;
    else if (tag === 24) more = reader.bool();
    else if (tag === 32) count = reader.int();
    else reader.skip(tag);
  }
  return { revision, kvs, count, more };
}
