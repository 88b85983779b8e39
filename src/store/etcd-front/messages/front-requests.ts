/**
 * What an etcd client asks, from its bytes: the requests of the KV service, as they stand on the wire. What they must
 * not say is judged in front-checks.ts, in etcd's order, once all of a request is known.
 *
 * Always true: a field that is not there has etcd's default; of the members of a oneof the last one counts; an enum has
 * 32 bits, and a number beyond 2^53 is taken for that. What is longer or deeper than etcd allows is read no further
 * than it takes to say so: a list of more than 128, a transaction in the 128th transaction.
 *
 * It fails with a ProtobufError on bytes that are no such message.
 */
import { Reader } from '../../../api/protobuf.ts';
import { asBuffer, readKey } from '../../key-value-record.ts';
import type { Key, LeaseId, Revision } from '../../kv.ts';

export const MAX_OPS = 128;

/** `end` undefined: it was not there. */
export type KeyAndEnd = { readonly key: Key; readonly end: Key | undefined };

export type RangeRequest = KeyAndEnd & {
  readonly kind: 'range';
  readonly limit: number;
  readonly revision: Revision;
  readonly order: number;
  readonly target: number;
  readonly keysOnly: boolean;
  readonly countOnly: boolean;
  /** 0 is no bound. */
  readonly minMod: Revision;
  readonly maxMod: Revision;
  readonly minCreate: Revision;
  readonly maxCreate: Revision;
};

export type PutRequest = {
  readonly kind: 'put';
  readonly key: Key;
  readonly value: Uint8Array;
  readonly lease: LeaseId;
  readonly prevKv: boolean;
  readonly ignoreValue: boolean;
  readonly ignoreLease: boolean;
};

export type DeleteRequest = KeyAndEnd & { readonly kind: 'delete'; readonly prevKv: boolean };

export type NestedTxn = { readonly kind: 'txn'; readonly txn: TxnRequest };

/** `none`: an operation that says nothing. */
export type RequestOp = RangeRequest | PutRequest | DeleteRequest | NestedTxn | { readonly kind: 'none' };

/** What a pair is compared with; `than` is 0, 0n or nothing if it was said of another target. */
export type WireCompare = KeyAndEnd & { readonly result: number } & (
    | { readonly target: 'version' | 'createRevision' | 'modRevision'; readonly than: number }
    | { readonly target: 'lease'; readonly than: LeaseId }
    | { readonly target: 'value'; readonly than: Uint8Array }
    | { readonly target: 'unknown' }
  );

export type TxnRequest = {
  readonly compares: readonly WireCompare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
};

export function decodeRangeRequest(bytes: Uint8Array): RangeRequest {
  return readRange(new Reader(asBuffer(bytes)));
}

export function decodePutRequest(bytes: Uint8Array): PutRequest {
  return readPut(new Reader(asBuffer(bytes)));
}

export function decodeDeleteRequest(bytes: Uint8Array): DeleteRequest {
  return readDelete(new Reader(asBuffer(bytes)));
}

export function decodeTxnRequest(bytes: Uint8Array): TxnRequest {
  return readTxn(new Reader(asBuffer(bytes)), 0);
}

export function decodeCompactionRequest(bytes: Uint8Array): { revision: Revision; physical: boolean } {
  const reader = new Reader(bytes);
  let revision = 0;
  let physical = false;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) revision = readNumber(reader);
    else if (tag === 16) physical = reader.bool();
    else reader.skip(tag);
  }
  return { revision, physical };
}

/** Reads an embedded message with a reader narrowed to it. */
export function within<T>(reader: Reader, read: (reader: Reader) => T): T {
  const outer = reader.enter();
  const value = read(reader);
  reader.leave(outer);
  return value;
}

/** An int64 as a number: what does not fit is as far from anything real as what it is cut to. */
export function readNumber(reader: Reader): number {
  const value = Number(reader.int64());
  return Math.max(Math.min(value, Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
}

export function readEnum(reader: Reader): number {
  return Number(BigInt.asIntN(32, reader.int64()));
}

function readTxn(reader: Reader, depth: number): TxnRequest {
  const compares: WireCompare[] = [];
  const success: RequestOp[] = [];
  const failure: RequestOp[] = [];
  const add = <T>(list: T[], tag: number, read: (reader: Reader) => T) => {
    if (list.length > MAX_OPS) reader.skip(tag);
    else list.push(within(reader, read));
  };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) add(compares, tag, readCompare);
    else if (tag === 18) add(success, tag, (inner) => readOp(inner, depth));
    else if (tag === 26) add(failure, tag, (inner) => readOp(inner, depth));
    else reader.skip(tag);
  }
  return { compares, success, failure };
}

const emptyTxn: TxnRequest = { compares: [], success: [], failure: [] };

function readOp(reader: Reader, depth: number): RequestOp {
  let op: RequestOp = { kind: 'none' };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) op = within(reader, readRange);
    else if (tag === 18) op = within(reader, readPut);
    else if (tag === 26) op = within(reader, readDelete);
    else if (tag === 34 && depth < MAX_OPS)
      op = { kind: 'txn', txn: within(reader, (inner) => readTxn(inner, depth + 1)) };
    else {
      if (tag === 34) op = { kind: 'txn', txn: emptyTxn };
      reader.skip(tag);
    }
  }
  return op;
}

function readRange(reader: Reader): RangeRequest {
  let key = '';
  let end: Key | undefined;
  const flags = { keysOnly: false, countOnly: false };
  const numbers = { limit: 0, revision: 0, minMod: 0, maxMod: 0, minCreate: 0, maxCreate: 0 };
  const sort = { order: 0, target: 0 };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18) end = readKey(reader);
    else if (tag === 24) numbers.limit = readNumber(reader);
    else if (tag === 32) numbers.revision = readNumber(reader);
    else if (tag === 40) sort.order = readEnum(reader);
    else if (tag === 48) sort.target = readEnum(reader);
    else if (tag === 64) flags.keysOnly = reader.bool();
    else if (tag === 72) flags.countOnly = reader.bool();
    else if (tag === 80) numbers.minMod = readNumber(reader);
    else if (tag === 88) numbers.maxMod = readNumber(reader);
    else if (tag === 96) numbers.minCreate = readNumber(reader);
    else if (tag === 104) numbers.maxCreate = readNumber(reader);
    else reader.skip(tag); // `serializable` too: every read is of the newest
  }
  return { kind: 'range', key, end, ...numbers, ...sort, ...flags };
}

const noValue: Uint8Array = new Uint8Array(0);

function readPut(reader: Reader): PutRequest {
  let key = '';
  let value = noValue;
  let lease = 0n;
  const flags = { prevKv: false, ignoreValue: false, ignoreLease: false };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18) value = reader.bytes();
    else if (tag === 24) lease = reader.int64();
    else if (tag === 32) flags.prevKv = reader.bool();
    else if (tag === 40) flags.ignoreValue = reader.bool();
    else if (tag === 48) flags.ignoreLease = reader.bool();
    else reader.skip(tag);
  }
  return { kind: 'put', key, value, lease, ...flags };
}

function readDelete(reader: Reader): DeleteRequest {
  let key = '';
  let end: Key | undefined;
  let prevKv = false;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18) end = readKey(reader);
    else if (tag === 24) prevKv = reader.bool();
    else reader.skip(tag);
  }
  return { kind: 'delete', key, end, prevKv };
}

/** By its number in the enum; the operand of each is the field four above it. */
const compareTargets = ['version', 'createRevision', 'modRevision', 'value', 'lease'] as const;
const firstOperand = 4;

function readCompare(reader: Reader): WireCompare {
  let key = '';
  let end: Key | undefined;
  let result = 0;
  let target = 0;
  let operand: { readonly field: number; readonly value: number | LeaseId | Uint8Array } | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) result = readEnum(reader);
    else if (tag === 16) target = readEnum(reader);
    else if (tag === 26) key = readKey(reader);
    else if (tag === 32 || tag === 40 || tag === 48) operand = { field: tag >> 3, value: readNumber(reader) };
    else if (tag === 58) operand = { field: 7, value: reader.bytes() };
    else if (tag === 64) operand = { field: 8, value: reader.int64() };
    else if (tag === 514) end = readKey(reader);
    else reader.skip(tag);
  }
  const said = operand?.field === firstOperand + target ? operand.value : undefined;
  const name = compareTargets[target];
  if (name === undefined) return { key, end, result, target: 'unknown' };
  if (name === 'value') return { key, end, result, target: name, than: (said as Uint8Array | undefined) ?? noValue };
  if (name === 'lease') return { key, end, result, target: name, than: (said as LeaseId | undefined) ?? 0n };
  return { key, end, result, target: name, than: (said as number | undefined) ?? 0 };
}
