/**
 * A store brought back to what it held once, in place: what has come since is deleted, what was changed or deleted is put
 * back. Revisions go on, so whoever watches is told of it as of any other change, and nothing has to be restarted.
 */
import type { Op, Revision, Store } from '../../store/index.ts';

/** A state to come back to: each key with its value, and the revision it had when it was last so. */
export type Baseline = Map<string, { readonly value: Uint8Array; modRevision: Revision }>;

const EVERYTHING = { start: '\0' };
/** What one transaction may hold. */
const OPS_PER_TXN = 128;
const BYTES_PER_TXN = 1024 * 1024;

export async function baselineOf(store: Store): Promise<Baseline> {
  const { kvs } = await store.range(EVERYTHING);
  return new Map(kvs.map(({ key, value, modRevision }) => [key, { value, modRevision }]));
}

export async function resetStore(store: Store, baseline: Baseline): Promise<void> {
  const { kvs } = await store.range(EVERYTHING, { keysOnly: true });
  const gone = kvs.filter(({ key }) => !baseline.has(key));
  const there = new Map(kvs.map(({ key, modRevision }) => [key, modRevision]));
  const back = [...baseline].filter(([key, { modRevision }]) => there.get(key) !== modRevision);
  await putAll(store, [
    ...gone.map(({ key }): Op => ({ kind: 'delete', range: { key } })),
    ...back.map(([key, { value }]): Op => ({ kind: 'put', key, value })),
  ]);
  for (const [key, kept] of back) {
    const { kv } = await store.get(key);
    if (kv) kept.modRevision = kv.modRevision;
  }
}

/** In as few transactions as it takes, all under way at once. */
export async function putAll(store: Store, ops: readonly Op[]): Promise<void> {
  const txns: Op[][] = [];
  let bytes = 0;
  for (const op of ops) {
    const size = op.kind === 'put' ? op.key.length + op.value.length : 0;
    const last = txns.at(-1);
    if (!last || last.length === OPS_PER_TXN || bytes + size > BYTES_PER_TXN) {
      txns.push([op]);
      bytes = size;
    } else {
      last.push(op);
      bytes += size;
    }
  }
  await Promise.all(txns.map((then) => store.txn({ then })));
}
