/** How revisions are counted, and what a key says about its own life. */
import { describe, expect, it } from 'vitest';
import { fingerprint, type Open, plain, put, putOp, remove } from '../support/store/store-under-test.ts';

export function describeRevisions(open: Open): void {
  describe('revisions', () => {
    it('a transaction takes exactly one revision, whatever the number of keys it changes', async () => {
      await using t = await open();
      const before = await t.store.revision();
      await put(t.store, `${t.prefix}old1`);
      await put(t.store, `${t.prefix}old2`);
      const ops = [putOp(`${t.prefix}a`), putOp(`${t.prefix}b`), putOp(`${t.prefix}c`)];
      const { revision } = await t.store.txn({
        then: [...ops, { kind: 'delete', range: { prefix: `${t.prefix}old` } }],
      });
      expect(revision).toBe(before + 3);
      expect(await t.store.revision()).toBe(before + 3);
      const { kvs } = await t.store.range({ prefix: t.prefix });
      expect(kvs.map((kv) => kv.modRevision)).toEqual([before + 3, before + 3, before + 3]);
    });

    it('a transaction that changes nothing takes none and answers the revision of the store', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      const before = await fingerprint(t);
      const absent = { key: `${t.prefix}absent` };
      const idle = [
        {},
        { then: [] },
        { then: [{ kind: 'delete', range: absent }] },
        { then: [{ kind: 'range', range: { prefix: t.prefix } }] },
        { compare: [{ range: absent, target: 'version', is: '>', than: 0 }], then: [putOp(`${t.prefix}b`)] },
      ] as const;
      for (const txn of idle) expect((await t.store.txn(txn)).revision).toBe(revision);
      expect(await fingerprint(t)).toEqual(before);
    });

    it('a put of the same value is a change', async () => {
      await using t = await open();
      const first = await put(t.store, `${t.prefix}a`, 'same');
      expect(await put(t.store, `${t.prefix}a`, 'same')).toBe(first + 1);
      expect((await t.store.get(`${t.prefix}a`)).kv).toMatchObject({ version: 2, modRevision: first + 1 });
    });

    it('reads, leases without keys and compactions take no revision', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      await t.store.get(`${t.prefix}a`);
      await t.store.range({ prefix: t.prefix });
      const lease = await t.store.grantLease(3600);
      await t.store.keepLeaseAlive(lease.id);
      await t.store.revokeLease(lease.id);
      await t.store.compact(revision);
      await t.store.status();
      expect(await t.store.revision()).toBe(revision);
    });

    it('a key carries the revisions of its creation and last change, and the number of its puts', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      const created = await put(t.store, key, 'one');
      const fixed = { key, lease: 0n, createRevision: created };
      expect(plain((await t.store.get(key)).kv)).toEqual({ ...fixed, value: 'one', modRevision: created, version: 1 });
      const second = await put(t.store, key, 'two');
      const third = await put(t.store, key, 'three');
      expect(plain((await t.store.get(key)).kv)).toEqual({ ...fixed, value: 'three', modRevision: third, version: 3 });
      expect([second, third]).toEqual([created + 1, created + 2]);
    });

    it('a key deleted and put again starts a new life', async () => {
      await using t = await open();
      const key = `${t.prefix}a`;
      await put(t.store, key, 'one');
      await put(t.store, key, 'two');
      const deleted = await remove(t.store, { key });
      expect((await t.store.get(key)).kv).toBeUndefined();
      const again = await put(t.store, key, 'three');
      expect(again).toBe(deleted + 1);
      expect((await t.store.get(key)).kv).toMatchObject({ createRevision: again, modRevision: again, version: 1 });
    });

    it('a change of one key leaves the fields of others alone', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`, 'a');
      await put(t.store, `${t.prefix}ab`, 'ab');
      const before = plain((await t.store.get(`${t.prefix}ab`)).kv);
      await put(t.store, `${t.prefix}a`, 'other');
      await remove(t.store, { key: `${t.prefix}a` });
      expect(plain((await t.store.get(`${t.prefix}ab`)).kv)).toEqual(before);
    });

    it('revision() is at least that of every write answered before', async () => {
      await using t = await open();
      for (let i = 0; i < 10; i++) {
        const written = await put(t.store, `${t.prefix}a`);
        expect(await t.store.revision()).toBeGreaterThanOrEqual(written);
      }
    });
  });
}

/** Only for stores nobody else has written to. */
export function describeFreshRevisions(open: Open): void {
  describe('a fresh store', () => {
    it('is at revision 1, empty, and gives its first write revision 2', async () => {
      await using t = await open();
      expect(await t.store.revision()).toBe(1);
      expect(await t.store.range({ prefix: '' })).toEqual({ revision: 1, kvs: [], count: 0, more: false });
      expect(await t.store.leases()).toEqual([]);
      expect(await put(t.store, 'a')).toBe(2);
    });

    it('can be read and watched at its first revision', async () => {
      await using t = await open();
      await put(t.store, 'a', 'one');
      expect((await t.store.range({ prefix: '' }, { revision: 1 })).kvs).toEqual([]);
      await using watch = t.store.watch({ prefix: '' }, { fromRevision: 1 });
      const { value } = await watch.next();
      expect(plain(value?.events[0]?.kv)).toMatchObject({ key: 'a', modRevision: 2, value: 'one' });
    });

    it('keeps keys of all bytes in order, from the lowest to the highest', async () => {
      await using t = await open();
      const keys = ['\0', '\0\0', '\x01', 'a', 'a\0', 'a\xff', 'b', '\x7f', '\x80', '\xff', '\xff\0', '\xff\xff'];
      for (const key of [...keys].reverse()) await put(t.store, key);
      const keysOf = async (range: Parameters<typeof t.store.range>[0]) =>
        (await t.store.range(range)).kvs.map((kv) => kv.key);
      expect(await keysOf({ prefix: '' })).toEqual(keys);
      expect(await keysOf({ start: '' })).toEqual(keys);
      expect(await keysOf({ prefix: '\xff' })).toEqual(['\xff', '\xff\0', '\xff\xff']);
      expect(await keysOf({ start: '\x80' })).toEqual(['\x80', '\xff', '\xff\0', '\xff\xff']);
      expect(await keysOf({ start: '', end: '\x01' })).toEqual(['\0', '\0\0']);
      expect((await t.store.txn({ then: [{ kind: 'delete', range: { prefix: '' } }] })).results).toEqual([
        { kind: 'delete', deleted: keys.length, prevKvs: [] },
      ]);
    });
  });
}
