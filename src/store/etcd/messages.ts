/**
 * The messages of etcd's KV service, as bytes and back: what our contract says in kv.ts on one side, the field numbers
 * of etcd's protocol on the other.
 *
 * Always true: a single key goes out without `range_end` (present but empty would mean "all keys from here"); keys
 * come back as binary strings, values as windows on the response. A range that can hold no key is not sent as such,
 * since `"\0"` as its end would mean everything.
 *
 * Encoding refuses bad keys with InvalidArgument; decoding fails with a ProtobufError.
 */
import { Reader, Writer } from '../../api/protobuf.ts';
import { StoreError } from '../errors.ts';
import { asBuffer, readKeyValue } from '../key-value-record.ts';
import { boundsOf } from '../keys.ts';
import type { Compare, KeyRange, KeyValue, Op, OpResult, RangeOptions, RangeResult, Txn, TxnResult } from '../kv.ts';

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

/** The bytes do not depend on a zero operand being left out: as a member of a oneof it is always written. */
export function encodeTxn(txn: Txn): Uint8Array {
  const writer = new Writer(256);
  for (const compare of txn.compare ?? []) writer.message(1, (w) => writeCompare(w, compare));
  for (const op of txn.then ?? []) writer.message(2, (w) => writeOp(w, op));
  for (const op of txn.else ?? []) writer.message(3, (w) => writeOp(w, op));
  return writer.finish();
}

export function decodeRange(bytes: Uint8Array): RangeResult {
  return readRange(new Reader(asBuffer(bytes)), 0);
}

export function decodeTxn(bytes: Uint8Array): TxnResult {
  const reader = new Reader(asBuffer(bytes));
  let revision = 0;
  let succeeded = false;
  const results: OpResult[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) revision = readHeader(reader);
    else if (tag === 16) succeeded = reader.bool();
    else if (tag === 26) results.push(readOpResult(reader, revision));
    else reader.skip(tag);
  }
  return { succeeded, revision, results };
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

function writeRange(writer: Writer, range: KeyRange, options: RangeOptions): void {
  const { key, end } = wireRange(range);
  writer.binary(1, key);
  if (end !== undefined) writer.binary(2, end);
  if (options.limit) writer.int(3, checkCount('limit', options.limit));
  if (options.revision) writer.int(4, checkCount('revision', options.revision));
  if (options.keysOnly) writer.bool(8, true);
  if (options.countOnly) writer.bool(9, true);
}

const comparisons = { '=': 0, '>': 1, '<': 2, '!=': 3 } as const;
/** The number of each target in the enum, and the field of its operand. */
const targets = {
  version: { target: 0, operand: 4 },
  createRevision: { target: 1, operand: 5 },
  modRevision: { target: 2, operand: 6 },
  value: { target: 3, operand: 7 },
  lease: { target: 4, operand: 8 },
} as const;

function writeCompare(writer: Writer, compare: Compare): void {
  const { target, operand } = targets[compare.target];
  const { key, end } = wireRange(compare.range);
  writer.int(1, comparisons[compare.is]).int(2, target).binary(3, key);
  if (compare.target === 'value') writer.bytes(operand, compare.than);
  else if (compare.target === 'lease') writer.int64(operand, compare.than);
  else writer.int(operand, compare.than);
  if (end !== undefined) writer.binary(64, end);
}

function writeOp(writer: Writer, op: Op): void {
  switch (op.kind) {
    case 'range':
      writer.message(1, (w) => writeRange(w, op.range, op.options ?? {}));
      break;
    case 'put':
      writer.message(2, (w) => {
        w.binary(1, wireRange({ key: op.key }).key).bytes(2, op.value);
        if (op.lease) w.int64(3, op.lease);
        if (op.prevKv) w.bool(4, true);
      });
      break;
    case 'delete':
      writer.message(3, (w) => {
        const { key, end } = wireRange(op.range);
        w.binary(1, key);
        if (end !== undefined) w.binary(2, end);
        if (op.prevKv) w.bool(3, true);
      });
  }
}

function readOpResult(reader: Reader, txnRevision: number): OpResult {
  const outer = reader.enter();
  let result: OpResult | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    const inner = tag === 10 || tag === 18 || tag === 26 ? reader.enter() : undefined;
    if (inner === undefined) reader.skip(tag);
    else {
      if (tag === 10) result = { kind: 'range', ...readRange(reader, txnRevision) };
      else if (tag === 18) result = { kind: 'put', prevKv: readPut(reader) };
      else result = { kind: 'delete', ...readDelete(reader) };
      reader.leave(inner);
    }
  }
  reader.leave(outer);
  if (!result)
    throw new StoreError('Corrupt', "Cannot read etcd's answer to a transaction: an operation has no result");
  return result;
}

function readRange(reader: Reader, outerRevision: number): RangeResult {
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

function readPut(reader: Reader): KeyValue | undefined {
  let prevKv: KeyValue | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 18) prevKv = readEmbeddedKeyValue(reader);
    else reader.skip(tag);
  }
  return prevKv;
}

function readDelete(reader: Reader): { deleted: number; prevKvs: KeyValue[] } {
  let deleted = 0;
  const prevKvs: KeyValue[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 16) deleted = reader.int();
    else if (tag === 26) prevKvs.push(readEmbeddedKeyValue(reader));
    else reader.skip(tag);
  }
  return { deleted, prevKvs };
}
