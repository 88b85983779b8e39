/** Compaction: what is forgotten, what must stay, and what is refused. */
import { describe, expect, it } from 'vitest';
import { History, violations } from '../support/store/history.ts';
import {
  bytes,
  expectRefusal,
  fingerprint,
  keysIn,
  type Open,
  put,
  putOp,
  remove,
  textOf,
} from '../support/store/store-under-test.ts';
import { eventsIn, namesIn, nextBatch, plainEvent, readThrough, record } from '../support/store/watching.ts';

/** `keepsDeletes` is false only for servers known to forget the deletes of the very revision they compact at. */
export function describeCompaction(open: Open, { keepsDeletes = true } = {}): void {
  describe('compact()', () => {
    it.each([{ physical: false }, { physical: true }])(
      'refuses reads below its revision and allows them at and above it (%o)',
      async (options) => {
        await using t = await open();
        const key = `${t.prefix}a`;
        const first = await put(t.store, key, 'one');
        const second = await put(t.store, key, 'two');
        const third = await put(t.store, key, 'three');
        await t.store.compact(second, options);
        await expectRefusal(t.store.get(key, { revision: first }), 'Compacted');
        await expectRefusal(t.store.range({ prefix: t.prefix }, { revision: second - 1 }), 'Compacted');
        const valueAt = async (revision: number) => textOf((await t.store.get(key, { revision })).kv!.value);
        expect(await valueAt(second)).toBe('two');
        expect(await valueAt(third)).toBe('three');
        expect((await t.store.range({ prefix: t.prefix }, { revision: second })).count).toBe(1);
      },
    );

    it('names the oldest readable revision where the backend tells', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`);
      const revision = await put(t.store, `${t.prefix}a`);
      await t.store.compact(revision);
      const error = await t.store.get(`${t.prefix}a`, { revision: revision - 1 }).catch((err: unknown) => err);
      expect([undefined, revision]).toContain((error as { compactRevision?: number }).compactRevision);
      expect(error).toMatchObject({ name: 'StoreError', code: 'Compacted' });
    });

    it('changes nothing that is visible now', async () => {
      await using t = await open();
      for (const value of ['one', 'two', 'three']) {
        await t.store.txn({ then: ['a', 'b', 'c'].map((key) => putOp(t.prefix + key, value)) });
        await remove(t.store, { key: `${t.prefix}b` });
      }
      const before = await fingerprint(t);
      await t.store.compact(await t.store.revision(), { physical: true });
      expect(await fingerprint(t)).toEqual(before);
    });

    it('keeps keys that were last changed long before', async () => {
      await using t = await open();
      const old = await put(t.store, `${t.prefix}old`, 'still here');
      for (let i = 0; i < 20; i++) await put(t.store, `${t.prefix}busy`);
      const revision = await t.store.revision();
      await t.store.compact(revision, { physical: true });
      const { kv } = await t.store.get(`${t.prefix}old`, { revision });
      expect(kv).toMatchObject({ createRevision: old, modRevision: old, version: 1 });
    });

    it('is refused at or below the last one, and above the revision of the store', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`);
      const revision = await put(t.store, `${t.prefix}a`);
      await t.store.compact(revision);
      await expectRefusal(t.store.compact(revision), 'Compacted');
      await expectRefusal(t.store.compact(revision - 1), 'Compacted');
      await expectRefusal(t.store.compact(revision + 1), 'FutureRevision');
      await put(t.store, `${t.prefix}a`);
      await t.store.compact(revision + 1);
      await expectRefusal(t.store.get(`${t.prefix}a`, { revision }), 'Compacted');
    });

    it('a refused one compacts nothing', async () => {
      await using t = await open();
      const first = await put(t.store, `${t.prefix}a`, 'one');
      const second = await put(t.store, `${t.prefix}a`, 'two');
      await expectRefusal(t.store.compact(second + 5), 'FutureRevision');
      expect(textOf((await t.store.get(`${t.prefix}a`, { revision: first })).kv!.value)).toBe('one');
    });

    it('a new life that spans the revision is kept whole, an old one is gone', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      await put(t.store, key, 'first life');
      await remove(t.store, { key });
      const created = await put(t.store, key, 'one');
      const compacted = await put(t.store, key, 'two');
      const last = await put(t.store, key, 'three');
      await t.store.compact(compacted, { physical: true });
      expect((await t.store.get(key)).kv).toMatchObject({ createRevision: created, modRevision: last, version: 3 });
      expect((await t.store.get(key, { revision: compacted })).kv).toMatchObject({
        modRevision: compacted,
        version: 2,
      });
      expect(await put(t.store, key)).toBe(last + 1);
      expect((await t.store.get(key)).kv).toMatchObject({ createRevision: created, version: 4 });
    });

    it('a deleted key stays deleted, and its next life starts at version 1', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      await put(t.store, key);
      await remove(t.store, { key });
      const revision = await put(t.store, `${t.prefix}b`);
      await t.store.compact(revision, { physical: true });
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}b`]);
      const again = await put(t.store, key);
      expect((await t.store.get(key)).kv).toMatchObject({ createRevision: again, version: 1 });
    });

    const kept = keepsDeletes ? 'puts and deletes' : 'puts (this server forgets the deletes)';
    it(`a watch from its very revision still gets the ${kept} of that revision`, async () => {
      await using t = await open();
      const keys = ['changed', 'deleted', 'old'].map((key) => t.prefix + key);
      await t.store.txn({ then: keys.map((key) => putOp(key)) });
      const { revision } = await t.store.txn({
        then: [putOp(keys[0]!, 'new'), { kind: 'delete', range: { key: keys[1]! } }],
      });
      const later = await put(t.store, keys[2]!, 'later');
      await t.store.compact(revision, { physical: true });
      const { batches } = await record(t.store, { prefix: t.prefix }, later, { fromRevision: revision });
      const deletes = keepsDeletes ? [`delete ${keys[1]}`] : [];
      expect(namesIn(batches)).toEqual([`put ${keys[0]}`, ...deletes, `put ${keys[2]}`]);
    });

    it('a watch above it gets every previous pair', async () => {
      await using t = await open();
      const history = new History();
      const write = async (key: string, value: string | undefined) => {
        const revision = value === undefined ? await remove(t.store, { key }) : await put(t.store, key, value);
        history.record(revision, [{ key, value: value === undefined ? undefined : bytes(value) }]);
        return revision;
      };
      await write(`${t.prefix}a`, 'a1');
      await write(`${t.prefix}b`, 'b1');
      const compacted = await write(`${t.prefix}a`, 'a2');
      await write(`${t.prefix}a`, 'a3');
      const last = await write(`${t.prefix}b`, undefined);
      await t.store.compact(compacted, { physical: true });
      const options = { fromRevision: compacted + 1, prevKv: true };
      const recording = await record(t.store, { prefix: t.prefix }, last, options);
      expect(violations(recording, history)).toEqual([]);
      expect(eventsIn(recording.batches).map(plainEvent)).toMatchObject([
        { type: 'put', prevKv: { value: 'a2' } },
        { type: 'delete', prevKv: { value: 'b1' } },
      ]);
    });

    it('a watch below it ends with Compacted and names the oldest readable revision', async () => {
      await using t = await open();
      const first = await put(t.store, `${t.prefix}a`);
      const revision = await put(t.store, `${t.prefix}a`);
      await t.store.compact(revision);
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: first });
      await expectRefusal(watch.next(), 'Compacted', { compactRevision: revision });
    });

    it('a quiet watch that is not behind goes on', async () => {
      await using t = await open();
      await using watch = t.store.watch({ key: `${t.prefix}quiet` });
      await watch.started();
      for (let i = 0; i < 5; i++) await put(t.store, `${t.prefix}busy`);
      const compacted = await t.store.revision();
      await readThrough(watch, compacted);
      await t.store.compact(compacted, { physical: true });
      await put(t.store, `${t.prefix}busy`);
      const revision = await put(t.store, `${t.prefix}quiet`);
      let batch = await nextBatch(watch);
      while (batch.events.length === 0) batch = await nextBatch(watch);
      expect(batch.events[0]?.kv).toMatchObject({ key: `${t.prefix}quiet`, modRevision: revision });
    });

    it('while others write loses nothing they write', async () => {
      await using t = await open();
      const write = (_: unknown, i: number) => put(t.store, `${t.prefix}${i % 7}`);
      await Promise.all(Array.from({ length: 30 }, write));
      const compacted = await t.store.revision();
      await Promise.all([...Array.from({ length: 30 }, write), t.store.compact(compacted, { physical: true })]);
      const { kvs } = await t.store.range({ prefix: t.prefix });
      expect(kvs.reduce((sum, kv) => sum + kv.version, 0)).toBe(60);
    });
  });
}
