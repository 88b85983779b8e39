/**
 * The process that opens damaged stores, and may be ended by one: `damage-opener.ts <folder> <seed> <first> <last>`. For each
 * number it damages the file, opens the store, tells what it is, writes to it, opens it again, and says a line of it.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isStoreError, openEmbeddedStore } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { KeyValue, Store } from '../../../src/store/kv.ts';
import { type DamageKind, damage } from './damage.ts';

/** `found` is a digest of all that the store tells, or why it was refused. */
export type DamageLine = { readonly number: number; readonly kind: DamageKind } & (
  | { readonly outcome: 'opened'; readonly found: string; readonly after: string }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
);

export const openStore = (dataDir: string): Promise<Store> =>
  openEmbeddedStore({ dataDir, durability: 'none', autoCompaction: { mode: 'off' } });

const textOf = ({ key, value, lease, ...numbers }: KeyValue): string =>
  JSON.stringify([key, Buffer.from(value).toString('latin1'), String(lease), numbers]);

/** Everything that can be asked of a store. */
export async function describeStore(store: Store): Promise<string> {
  const revision = await store.revision();
  const compactRevision = (await store.status()).compaction!.revision;
  const hash = createHash('sha256').update(JSON.stringify({ revision, compactRevision }));
  for (const at of [compactRevision, Math.floor((compactRevision + revision) / 2), revision])
    for (const kv of (await store.range(everyKey, { revision: at })).kvs) hash.update(textOf(kv));
  await using watch = store.watch(everyKey, { fromRevision: compactRevision });
  watch.requestProgress();
  for await (const batch of watch) {
    for (const { type, kv } of batch.events) hash.update(type + textOf(kv));
    if (batch.revision >= revision) break;
    watch.requestProgress();
  }
  for (const id of await store.leases()) {
    const { grantedTtlSeconds, keys } = (await store.leaseInfo(id))!;
    hash.update(JSON.stringify([String(id), grantedTtlSeconds, keys]));
  }
  return `${revision}/${compactRevision}/${hash.digest('hex')}`;
}

/** What a store must come to after this if it was the right one before. */
export async function writeMore(dataDir: string): Promise<string> {
  const first = await openStore(dataDir);
  const put = (key: string, text: string) => first.txn({ then: [{ kind: 'put', key, value: Buffer.from(text) }] });
  for (let i = 0; i < 40; i++) await put(`after/${i % 7}`, 'x'.repeat(1 + ((i * 977) % 20_000)));
  await first.compact((await first.revision()) - 10, { physical: true });
  for (let i = 0; i < 20; i++) await put(`after/${i % 3}`, String(i));
  await first.close();
  await using second = await openStore(dataDir);
  return await describeStore(second);
}

async function tryOne(folder: string, seed: number, number: number): Promise<DamageLine> {
  const past = readdirSync(join(folder, 'past')).map((name) => readFileSync(join(folder, 'past', name)));
  const { kind, bytes } = damage(readFileSync(join(folder, 'whole/data.mdb')), past, seed * 100_003 + number);
  const dataDir = mkdtempSync(join(folder, 'damaged-'));
  try {
    writeFileSync(join(dataDir, 'data.mdb'), bytes);
    copyFileSync(join(folder, 'whole/SEAL'), join(dataDir, 'SEAL'));
    const store = await openStore(dataDir);
    const found = await describeStore(store).finally(() => store.close());
    return { number, kind, outcome: 'opened', found, after: await writeMore(dataDir) };
  } catch (err) {
    if (!isStoreError(err)) throw err;
    return { number, kind, outcome: 'refused', code: err.code, message: err.message };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const [folder, seed, first, last] = process.argv.slice(2);
if (last !== undefined)
  for (let number = Number(first); number <= Number(last); number++)
    process.stdout.write(`${JSON.stringify(await tryOne(folder!, Number(seed), number))}\n`);
