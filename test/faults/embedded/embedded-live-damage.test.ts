/** Damage to a file that is open: what was damaged is refused where it is read, and everything else goes on. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/index.ts';
import { everyKey } from '../../../src/store/keys.ts';
import type { Store } from '../../../src/store/kv.ts';
import { expectRefusal, put, putOp, textOf } from '../../support/store/store-under-test.ts';
import { nextBatch } from '../../support/store/watching.ts';
import { type TemporaryDir, temporaryDir } from '../../support/temporary-dir.ts';

let dir: TemporaryDir;
let store: Store;
beforeEach(async () => {
  dir = await temporaryDir();
  store = await openEmbeddedStore({ dataDir: dir.path, durability: 'none', autoCompaction: { mode: 'off' } });
  await store.grantLease(60, { id: 5n });
  await put(store, 'good', 'sound');
  await put(store, 'small', 'MARK of a small value');
  await put(store, 'big', `MARK ${'x'.repeat(100_000)}`);
});
afterEach(async () => {
  await store.close();
  await dir[Symbol.asyncDispose]();
});

/** Flips a bit of every copy of the mark, in the very file that is mapped. */
function damageValues(): void {
  const file = join(dir.path, 'data.mdb');
  const bytes = readFileSync(file);
  const fd = openSync(file, 'r+');
  for (let at = bytes.indexOf('MARK'); at >= 0; at = bytes.indexOf('MARK', at + 1)) writeSync(fd, 'm', at);
  closeSync(fd);
}

it.each(['small', 'big'])('a read of a damaged %s value is Corrupt, other keys are read and written', async (key) => {
  damageValues();
  await expectRefusal(store.get(key), 'Corrupt', { message: expect.stringContaining('is damaged') });
  await expectRefusal(store.range(everyKey), 'Corrupt');
  expect((await store.range(everyKey, { keysOnly: true })).count).toBe(3);
  expect(textOf((await store.get('good')).kv!.value)).toBe('sound');
  await put(store, key, 'new');
  expect(textOf((await store.get(key)).kv!.value)).toBe('new');
});

it('a watch of the past ends with Corrupt where it would have to leave something out', async () => {
  damageValues();
  const watch = store.watch(everyKey, { fromRevision: 2 });
  await expectRefusal(
    (async () => {
      for await (const _batch of watch);
    })(),
    'Corrupt',
  );
  await expectRefusal(store.snapshot(join(dir.path, 'snapshot')), 'Corrupt');
});

it('a watch that wants the value before ends with Corrupt, others get the event, the write is answered', async () => {
  const wanting = store.watch(everyKey, { prevKv: true });
  const plain = store.watch(everyKey);
  damageValues();
  const ended = expectRefusal(nextBatch(wanting), 'Corrupt');
  await put(store, 'small', 'new');
  await ended;
  expect((await nextBatch(plain)).events[0]!.kv.key).toBe('small');
});

it('a transaction that has to read it never was: no change, no lease, no revision', async () => {
  damageValues();
  const revision = await store.revision();
  const ops = [putOp('good', 'changed', 5n), putOp('new', 'x', 5n), { ...putOp('small', 'x', 5n), prevKv: true }];
  await expectRefusal(store.txn({ then: ops }), 'Corrupt');
  await expectRefusal(
    store.txn({ compare: [{ range: { key: 'big' }, target: 'value', is: '=', than: Buffer.from('') }] }),
    'Corrupt',
  );
  expect(await store.leaseInfo(5n)).toMatchObject({ keys: [] });
  expect(await put(store, 'next')).toBe(revision + 1);
  expect(textOf((await store.get('good')).kv!.value)).toBe('sound');
  expect((await store.get('new')).kv).toBeUndefined();
});
