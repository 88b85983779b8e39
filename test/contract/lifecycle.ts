/** Calls that are aborted, stores that close, and what a store knows after it was opened again. */
import { describe, expect, it } from 'vitest';
import { History, violations } from '../support/store/history.ts';
import {
  bytes,
  expectRefusal,
  fingerprint,
  keysIn,
  type Open,
  type OpenDurable,
  put,
  putOp,
  remove,
  textOf,
} from '../support/store/store-under-test.ts';
import { record } from '../support/store/watching.ts';

export function describeLifecycle(open: Open): void {
  describe('the life of a store', () => {
    it('every call with a signal that has fired rejects with its reason', async () => {
      await using t = await open();
      const before = await fingerprint(t);
      const reason = new Error('too late');
      const options = { signal: AbortSignal.abort(reason) };
      const key = `${t.prefix}a`;
      const calls = [
        () => t.store.get(key, options),
        () => t.store.range({ key }, options),
        () => t.store.txn({ then: [putOp(key)] }, options),
        () => t.store.revision(options),
        () => t.store.grantLease(3600, options),
        () => t.store.leases(options),
        () => t.store.status(options),
      ];
      for (const call of calls) await expect(call()).rejects.toBe(reason);
      expect(await fingerprint(t)).toEqual(before);
    });

    it('status() tells its revision, its size, and no problems', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      const status = await t.store.status();
      expect(status.revision).toBe(revision);
      expect(status.problems).toEqual([]);
      expect(status.version).not.toBe('');
      expect(status.sizeInUseBytes).toBeGreaterThan(0);
      expect(status.sizeBytes).toBeGreaterThanOrEqual(status.sizeInUseBytes);
    });

    it('close() makes every later call fail with Closed', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      await t.store.close();
      const calls = [
        () => t.store.get('a'),
        () => t.store.range({ prefix: 'a' }),
        () => t.store.txn({ then: [putOp('a')] }),
        () => t.store.revision(),
        () => t.store.compact(1),
        () => t.store.grantLease(3600),
        () => t.store.keepLeaseAlive(id),
        () => t.store.revokeLease(id),
        () => t.store.leaseInfo(id),
        () => t.store.leases(),
        () => t.store.status(),
        async () => t.store.watch({ prefix: 'a' }).next(),
      ];
      for (const call of calls) await expectRefusal(call(), 'Closed');
    });

    it('close() lets every call under way end, answered or refused', async () => {
      await using t = await open();
      const calls = Array.from({ length: 50 }, (_, i) => put(t.store, `${t.prefix}${i}`));
      const settled = Promise.allSettled(calls);
      await t.store.close();
      for (const result of await settled) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ name: 'StoreError' });
        else expect(result.value).toBeGreaterThan(0);
      }
    });

    it('close() may be called again', async () => {
      await using t = await open();
      await Promise.all([t.store.close(), t.store.close()]);
      await t.store.close();
      await t.store[Symbol.asyncDispose]();
    });
  });
}

export function describeReopening(open: OpenDurable): void {
  describe('a store opened again', () => {
    it('has the revision, the keys and every field of them', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(600);
      await t.store.txn({ then: ['a', 'b\0', 'c\xff'].map((key) => putOp(t.prefix + key, `value of ${key}`, id)) });
      await put(t.store, `${t.prefix}a`, '');
      await remove(t.store, { key: `${t.prefix}b\0` });
      const before = await fingerprint(t);
      const store = await t.reopen();
      expect(await fingerprint({ ...t, store })).toEqual(before);
    });

    it('goes on counting where it was', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      const store = await t.reopen();
      expect(await put(store, `${t.prefix}a`)).toBe(revision + 1);
      expect((await store.get(`${t.prefix}a`)).kv).toMatchObject({ version: 2, createRevision: revision });
    });

    it('has its history: reads at old revisions, and watches from them', async () => {
      await using t = await open();
      const history = new History();
      const from = (await t.store.revision()) + 1;
      for (const value of ['one', 'two', undefined, 'three']) {
        const key = `${t.prefix}a`;
        const revision = value === undefined ? await remove(t.store, { key }) : await put(t.store, key, value);
        history.record(revision, [{ key, value: value === undefined ? undefined : bytes(value) }]);
      }
      const store = await t.reopen();
      const recording = await record(store, { prefix: t.prefix }, from + 3, { fromRevision: from, prevKv: true });
      expect(violations(recording, history)).toEqual([]);
      expect(textOf((await store.get(`${t.prefix}a`, { revision: from + 1 })).kv!.value)).toBe('two');
      expect((await store.get(`${t.prefix}a`, { revision: from + 2 })).kv).toBeUndefined();
    });

    it('has its leases and the keys that go with them', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(600);
      const idle = await t.store.grantLease(700);
      const gone = await t.store.grantLease(600);
      await t.store.revokeLease(gone.id);
      await t.store.txn({ then: ['a', 'b'].map((key) => putOp(t.prefix + key, '', id)) });
      const revision = await put(t.store, `${t.prefix}a`);
      const store = await t.reopen();
      expect(await store.leaseInfo(id)).toMatchObject({ grantedTtlSeconds: 600, keys: [`${t.prefix}b`] });
      expect(await store.leaseInfo(idle.id)).toMatchObject({ grantedTtlSeconds: 700, keys: [] });
      expect(await store.leaseInfo(gone.id)).toBeUndefined();
      await store.revokeLease(id);
      expect(await keysIn(store, { prefix: t.prefix })).toEqual([`${t.prefix}a`]);
      expect(await store.revision()).toBe(revision + 1);
    });

    it('remembers its compaction', async () => {
      await using t = await open();
      const first = await put(t.store, `${t.prefix}a`, 'one');
      const second = await put(t.store, `${t.prefix}a`, 'two');
      await t.store.compact(second);
      const store = await t.reopen();
      await expectRefusal(store.get(`${t.prefix}a`, { revision: first }), 'Compacted');
      await expectRefusal(store.compact(second), 'Compacted');
      await using watch = store.watch({ prefix: t.prefix }, { fromRevision: first });
      await expectRefusal(watch.next(), 'Compacted', { compactRevision: second });
      expect(textOf((await store.get(`${t.prefix}a`, { revision: second })).kv!.value)).toBe('two');
    });

    it('does not go back in revisions when its newest record was a delete that is compacted away', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}a`);
      const revision = await remove(t.store, { key: `${t.prefix}a` });
      await t.store.compact(revision, { physical: true });
      const store = await t.reopen();
      expect(await store.revision()).toBe(revision);
      expect(await put(store, `${t.prefix}a`)).toBe(revision + 1);
    });

    it('can be opened again and again', async () => {
      await using t = await open();
      let { store } = t;
      const start = await store.revision();
      for (let i = 1; i <= 4; i++) {
        expect(await put(store, `${t.prefix}a`, `${i}`)).toBe(start + i);
        store = await t.reopen();
      }
      expect((await store.get(`${t.prefix}a`)).kv).toMatchObject({ createRevision: start + 1, version: 4 });
    });
  });
}
