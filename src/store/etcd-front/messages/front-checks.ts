/**
 * What etcd refuses before it looks at its state, in etcd's order: the number of operations, then keys and flags one by
 * one, then keys that would be changed twice; and last how large the request is as an entry of its log.
 *
 * Unknown numbers of an order or of a comparison are not refused, as in etcd up to 3.5: see range-reader.ts and
 * txn-runner.ts for what they mean. An unknown number of what to sort by is; etcd 3.5 dies of it.
 */
import { varintSize } from '../../../api/protobuf.ts';
import { refusals } from './front-error.ts';
import { MAX_OPS, type PutRequest, type RangeRequest, type RequestOp, type TxnRequest } from './front-requests.ts';

const MAX_REQUEST_BYTES = 1.5 * 1024 * 1024;
/** What etcd puts around a request: a header with an id of 64 bits, and the tag of the request. */
const ENTRY_BYTES = 15;
const SORT_TARGETS = 5;

export function checkRange({ key, target }: RangeRequest): void {
  checkKey(key);
  if (target < 0 || target >= SORT_TARGETS) throw refusals.badSort();
}

export function checkPut({ key, value, lease, ignoreValue, ignoreLease }: PutRequest): void {
  checkKey(key);
  if (ignoreValue && value.length > 0) throw refusals.valueProvided();
  if (ignoreLease && lease !== 0n) throw refusals.leaseProvided();
}

export function checkKey(key: string): void {
  if (key === '') throw refusals.emptyKey();
}

/** A transaction within another may have what the longest list of that one leaves. */
export function checkTxn({ compares, success, failure }: TxnRequest, maxOps: number = MAX_OPS): void {
  const longest = Math.max(compares.length, success.length, failure.length);
  if (longest > maxOps) throw refusals.tooManyOps();
  for (const { key } of compares) checkKey(key);
  for (const op of success) checkOp(op, maxOps - longest);
  for (const op of failure) checkOp(op, maxOps - longest);
}

function checkOp(op: RequestOp, opsLeft: number): void {
  if (op.kind === 'range') checkRange(op);
  else if (op.kind === 'put') checkPut(op);
  else if (op.kind === 'delete') checkKey(op.key);
  else if (op.kind === 'txn') checkTxn(op.txn, opsLeft);
  else throw refusals.keyNotFound();
}

/** For whatever would go into etcd's log: a transaction that only reads does not. */
export function checkSize(requestBytes: number): void {
  if (requestBytes + varintSize(requestBytes) + ENTRY_BYTES > MAX_REQUEST_BYTES) throw refusals.tooLarge();
}
