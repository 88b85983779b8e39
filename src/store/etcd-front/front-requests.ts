/**
 * What an etcd client asks, from its bytes: the requests of the KV service.
 *
 * Always true: a field that is not there has etcd's default. A range is told apart as etcd does it: without `range_end`
 * one key, with `"\0"` (or with nothing in it) every key from there on, with an end at or below its start no key at all.
 *
 * It fails with a ProtobufError on bytes that are no such message, and with a FrontError on what etcd refuses unseen.
 */
import { Reader } from '../../api/protobuf.ts';
import { asBuffer, readKey } from '../key-value-record.ts';
import type { Compare, Key, KeyRange, LeaseId, Revision } from '../kv.ts';
import { refusals } from './front-error.ts';

/** `none`: it can hold no key. */
export type WireRange = KeyRange | 'none';

export type SortTarget = 'key' | 'version' | 'createRevision' | 'modRevision' | 'value';

export type RangeRequest = {
  readonly kind: 'range';
  readonly range: WireRange;
  readonly limit: number;
  readonly revision: Revision;
  readonly order: 'none' | 'ascend' | 'descend';
  readonly target: SortTarget;
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

export type DeleteRequest = { readonly kind: 'delete'; readonly range: WireRange; readonly prevKv: boolean };

export type RequestOp = RangeRequest | PutRequest | DeleteRequest;

type WithoutRange<C> = C extends Compare ? Omit<C, 'range'> : never;

/** The range of a compare may be none. */
export type WireCompare = { readonly range: WireRange; readonly test: WithoutRange<Compare> };

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
  const reader = new Reader(asBuffer(bytes));
  const compares: WireCompare[] = [];
  const success: RequestOp[] = [];
  const failure: RequestOp[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) compares.push(within(reader, readCompare));
    else if (tag === 18) success.push(within(reader, readOp));
    else if (tag === 26) failure.push(within(reader, readOp));
    else reader.skip(tag);
  }
  return { compares, success, failure };
}

export function decodeCompactionRequest(bytes: Uint8Array): { revision: Revision; physical: boolean } {
  const reader = new Reader(bytes);
  let revision = 0;
  let physical = false;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) revision = reader.int();
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

export function rangeOf(key: Key, end: Key | undefined): WireRange {
  if (key === '') throw refusals.emptyKey();
  if (end === undefined) return { key };
  if (end === '' || end === '\0') return { start: key };
  return end <= key ? 'none' : { start: key, end };
}

const orders = ['none', 'ascend', 'descend'] as const;
const sortTargets: readonly SortTarget[] = ['key', 'version', 'createRevision', 'modRevision', 'value'];

function readRange(reader: Reader): RangeRequest {
  let key = '';
  let end: Key | undefined;
  const flags = { keysOnly: false, countOnly: false };
  const numbers = { limit: 0, revision: 0, minMod: 0, maxMod: 0, minCreate: 0, maxCreate: 0 };
  let order = 0;
  let target = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18) end = readKey(reader);
    else if (tag === 24) numbers.limit = Math.max(0, reader.int());
    else if (tag === 32) numbers.revision = Math.max(0, reader.int());
    else if (tag === 40) order = reader.int();
    else if (tag === 48) target = reader.int();
    else if (tag === 64) flags.keysOnly = reader.bool();
    else if (tag === 72) flags.countOnly = reader.bool();
    else if (tag === 80) numbers.minMod = reader.int();
    else if (tag === 88) numbers.maxMod = reader.int();
    else if (tag === 96) numbers.minCreate = reader.int();
    else if (tag === 104) numbers.maxCreate = reader.int();
    else reader.skip(tag); // `serializable` too: every read is of the newest
  }
  const range = rangeOf(key, end);
  const [orderName, targetName] = [orders[order], sortTargets[target]];
  if (!orderName || !targetName) throw refusals.badSort();
  return { kind: 'range', range, order: orderName, target: targetName, ...numbers, ...flags };
}

function readPut(reader: Reader): PutRequest {
  let key = '';
  let value: Uint8Array = new Uint8Array(0);
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
  if (key === '') throw refusals.emptyKey();
  if (flags.ignoreValue && value.length > 0) throw refusals.valueProvided();
  if (flags.ignoreLease && lease !== 0n) throw refusals.leaseProvided();
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
  return { kind: 'delete', range: rangeOf(key, end), prevKv };
}

function readOp(reader: Reader): RequestOp {
  let op: RequestOp | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) op = within(reader, readRange);
    else if (tag === 18) op = within(reader, readPut);
    else if (tag === 26) op = within(reader, readDelete);
    else if (tag === 34) throw refusals.nestedTxn();
    else reader.skip(tag);
  }
  if (!op) throw refusals.keyNotFound();
  return op;
}

const comparisons = ['=', '>', '<', '!='] as const;

function readCompare(reader: Reader): WireCompare {
  let key = '';
  let end: Key | undefined;
  let result = 0;
  let target = 0;
  const numbers = { version: 0, createRevision: 0, modRevision: 0 };
  let value: Uint8Array = new Uint8Array(0);
  let lease = 0n;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) result = reader.int();
    else if (tag === 16) target = reader.int();
    else if (tag === 26) key = readKey(reader);
    else if (tag === 32) numbers.version = reader.int();
    else if (tag === 40) numbers.createRevision = reader.int();
    else if (tag === 48) numbers.modRevision = reader.int();
    else if (tag === 58) value = reader.bytes();
    else if (tag === 64) lease = reader.int64();
    else if (tag === 514) end = readKey(reader);
    else reader.skip(tag);
  }
  const range = rangeOf(key, end);
  const is = comparisons[result];
  if (!is) throw refusals.badSort();
  switch (target) {
    case 0:
      return { range, test: { is, target: 'version', than: numbers.version } };
    case 1:
      return { range, test: { is, target: 'createRevision', than: numbers.createRevision } };
    case 2:
      return { range, test: { is, target: 'modRevision', than: numbers.modRevision } };
    case 3:
      return { range, test: { is, target: 'value', than: value } };
    case 4:
      return { range, test: { is, target: 'lease', than: lease } };
    default:
      throw refusals.badSort();
  }
}
