/**
 * Transactions in etcd's protocol, as bytes and back.
 *
 * Always true: the zero operand of a compare is written, since it is a member of a oneof. What a compare means where
 * there is no key is the same in kv.ts and in etcd.
 *
 * Encoding refuses bad keys with InvalidArgument; decoding fails with a ProtobufError, or Corrupt if a result is missing.
 */
import { Reader, Writer } from '../../../api/protobuf.ts';
import { StoreError } from '../../errors.ts';
import { asBuffer } from '../../key-value-record.ts';
import type { Compare, KeyValue, Op, OpResult, Txn, TxnResult } from '../../kv.ts';
import { readEmbeddedKeyValue, readHeader, readRange, wireRange, writeRange } from './messages.ts';

export function encodeTxn(txn: Txn): Uint8Array {
  return writeTxn(new Writer(256), txn).finish();
}

function writeTxn(writer: Writer, txn: Txn): Writer {
  for (const compare of txn.compare ?? []) writer.message(1, (w) => writeCompare(w, compare));
  for (const op of txn.then ?? []) writer.message(2, (w) => writeOp(w, op));
  for (const op of txn.else ?? []) writer.message(3, (w) => writeOp(w, op));
  return writer;
}

export function decodeTxn(bytes: Uint8Array): TxnResult {
  return readTxn(new Reader(asBuffer(bytes)), 0);
}

/** A transaction within another has a header without a revision. */
function readTxn(reader: Reader, outerRevision: number): TxnResult {
  let revision = outerRevision;
  let succeeded = false;
  const results: OpResult[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) revision = readHeader(reader) || outerRevision;
    else if (tag === 16) succeeded = reader.bool();
    else if (tag === 26) results.push(readOpResult(reader, revision));
    else reader.skip(tag);
  }
  return { succeeded, revision, results };
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
        if (op.ignoreValue) w.bool(5, true);
        if (op.ignoreLease) w.bool(6, true);
      });
      break;
    case 'delete':
      writer.message(3, (w) => {
        const { key, end } = wireRange(op.range);
        w.binary(1, key);
        if (end !== undefined) w.binary(2, end);
        if (op.prevKv) w.bool(3, true);
      });
      break;
    case 'txn':
      writer.message(4, (w) => writeTxn(w, op.txn));
  }
}

function readOpResult(reader: Reader, txnRevision: number): OpResult {
  const outer = reader.enter();
  let result: OpResult | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag !== 10 && tag !== 18 && tag !== 26 && tag !== 34) {
      reader.skip(tag);
      continue;
    }
    const end = reader.enter();
    if (tag === 10) result = { kind: 'range', ...readRange(reader, txnRevision) };
    else if (tag === 18) result = { kind: 'put', prevKv: readPut(reader) };
    else if (tag === 26) result = { kind: 'delete', ...readDelete(reader) };
    else result = within(readTxn(reader, txnRevision));
    reader.leave(end);
  }
  reader.leave(outer);
  if (result) return result;
  throw new StoreError('Corrupt', "Cannot read etcd's answer to a transaction: an operation has no result");
}

function within({ succeeded, results }: TxnResult): OpResult {
  return { kind: 'txn', succeeded, results };
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
