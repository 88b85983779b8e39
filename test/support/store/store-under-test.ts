/**
 * What the contract suite needs of a backend, and the few words its tests are written in.
 *
 * Several tests may share one server one after the other, so a test writes under its own prefix and counts revisions
 * from what it finds. Prefixes are handed out in rising order: no key at or above a test's prefix is anyone else's.
 */
import { expect } from 'vitest';
import type { StoreErrorCode } from '../../../src/store/errors.ts';
import type { Key, KeyRange, KeyValue, LeaseId, Op, Revision, Store } from '../../../src/store/kv.ts';

export type StoreUnderTest = AsyncDisposable & {
  readonly store: Store;
  readonly prefix: Key;
};

/** One whose data outlives it: `reopen` closes it, starts what lies below again, and opens it on the same data. */
export type DurableStoreUnderTest = StoreUnderTest & { reopen(): Promise<Store> };

export type Open = () => Promise<StoreUnderTest>;
export type OpenDurable = () => Promise<DurableStoreUnderTest>;

let prefixes = 0;

export function nextPrefix(): Key {
  return `test${String(++prefixes).padStart(6, '0')}/`;
}

export function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

export function textOf(value: Uint8Array): string {
  return Buffer.from(value).toString('latin1');
}

export function putOp(key: Key, value = '', lease?: LeaseId): Op {
  return { kind: 'put', key, value: bytes(value), ...(lease === undefined ? {} : { lease }) };
}

/** Answers the revision of the put. */
export async function put(store: Store, key: Key, value = '', lease?: LeaseId): Promise<Revision> {
  return (await store.txn({ then: [putOp(key, value, lease)] })).revision;
}

/** Answers the revision of the delete. */
export async function remove(store: Store, range: KeyRange): Promise<Revision> {
  return (await store.txn({ then: [{ kind: 'delete', range }] })).revision;
}

export async function keysIn(store: Store, range: KeyRange): Promise<Key[]> {
  return (await store.range(range)).kvs.map((kv) => kv.key);
}

/** The pair in a form that compares and prints well: the value as text, the bytes' kind forgotten. */
export function plain(kv: KeyValue | undefined): (Omit<KeyValue, 'value'> & { value: string }) | undefined {
  return kv && { ...kv, value: textOf(kv.value) };
}

export async function expectRefusal(
  call: Promise<unknown>,
  code: StoreErrorCode,
  details: Record<string, unknown> = {},
): Promise<void> {
  await expect(call).rejects.toMatchObject({ name: 'StoreError', code, ...details });
}

/** Everything below the prefix and the revision: equal before and after a call that must change nothing. */
export async function fingerprint({ store, prefix }: StoreUnderTest): Promise<unknown> {
  const { revision, kvs } = await store.range({ prefix });
  return { revision, kvs: kvs.map(plain) };
}
