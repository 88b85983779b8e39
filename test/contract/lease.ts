/** Leases: what they hold, what ends them, and what ends with them. */
import { describe, expect, it } from 'vitest';
import { expectRefusal, fingerprint, keysIn, type Open, put, putOp } from '../support/store/store-under-test.ts';
import { eventsIn, nextBatch, plainEvent, readEvents } from '../support/store/watching.ts';

export function describeLeases(open: Open): void {
  describe('leases', () => {
    it('grantLease() picks an id, grants the TTL, and the lease exists', async () => {
      await using t = await open();
      const lease = await t.store.grantLease(1000);
      expect(lease.ttlSeconds).toBe(1000);
      expect(lease.id > 0n && lease.id < 2n ** 63n).toBe(true);
      expect(await t.store.leases()).toContain(lease.id);
      const info = await t.store.leaseInfo(lease.id);
      expect(info).toMatchObject({ id: lease.id, grantedTtlSeconds: 1000, keys: [] });
      expect(info!.remainingSeconds).toBeGreaterThan(0);
      expect(info!.remainingSeconds).toBeLessThanOrEqual(1000);
      expect((await t.store.grantLease(1000)).id).not.toBe(lease.id);
    });

    it('grantLease() takes an id that is free, and refuses one that is not', async () => {
      await using t = await open();
      const id = 2n ** 61n + BigInt(await put(t.store, `${t.prefix}a`));
      expect(await t.store.grantLease(3600, { id })).toEqual({ id, ttlSeconds: 3600 });
      await expectRefusal(t.store.grantLease(99, { id }), 'LeaseExists');
      expect(await t.store.leaseInfo(id)).toMatchObject({ grantedTtlSeconds: 3600 });
      await t.store.revokeLease(id);
      expect(await t.store.grantLease(70, { id })).toEqual({ id, ttlSeconds: 70 });
    });

    it('grantLease() raises a TTL below the minimum', async () => {
      await using t = await open();
      const least = await t.store.grantLease(0);
      expect(least.ttlSeconds).toBeGreaterThan(0);
      expect((await t.store.leaseInfo(least.id))?.grantedTtlSeconds).toBe(least.ttlSeconds);
    });

    it('an unknown lease has no info, keeps nothing alive, and cannot be revoked', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      await t.store.revokeLease(id);
      expect(await t.store.leaseInfo(id)).toBeUndefined();
      expect(await t.store.keepLeaseAlive(id)).toBe(0);
      expect(await t.store.leases()).not.toContain(id);
      await expectRefusal(t.store.revokeLease(id), 'LeaseNotFound');
      await expectRefusal(put(t.store, `${t.prefix}a`, '', id), 'LeaseNotFound');
    });

    it('keepLeaseAlive() answers the TTL', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(500);
      expect(await t.store.keepLeaseAlive(id)).toBe(500);
    });

    it('leaseInfo() names the keys that go with it, in order', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      const keys = ['a', 'a\0', 'b', 'c\x80', 'c\xff'].map((key) => t.prefix + key);
      for (const key of [...keys].reverse()) await put(t.store, key, '', id);
      await put(t.store, `${t.prefix}free`);
      expect((await t.store.leaseInfo(id))?.keys).toEqual(keys);
      expect((await t.store.get(keys[0]!)).kv?.lease).toBe(id);
    });

    it('revokeLease() deletes its keys in one revision, in order, and a watch sees it', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      const keys = ['a', 'b', 'c'].map((key) => t.prefix + key);
      for (const key of [...keys].reverse()) await put(t.store, key, key, id);
      const before = await put(t.store, `${t.prefix}free`);
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: before + 1, prevKv: true });
      await t.store.revokeLease(id);
      expect(await t.store.revision()).toBe(before + 1);
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}free`]);
      const batch = await nextBatch(watch);
      expect(batch.events.map(plainEvent)).toMatchObject(
        keys.map((key) => ({
          type: 'delete',
          kv: { key, modRevision: before + 1 },
          prevKv: { value: key, lease: id },
        })),
      );
    });

    it('revokeLease() of a lease without keys takes no revision', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      const revision = await put(t.store, `${t.prefix}a`);
      await t.store.revokeLease(id);
      expect(await t.store.revision()).toBe(revision);
    });

    it('a put with another lease, with none, or a delete takes the key off its lease', async () => {
      await using t = await open();
      const [one, other] = [await t.store.grantLease(3600), await t.store.grantLease(3600)];
      const keys = ['deleted', 'free', 'kept', 'moved', 'zero'].map((key) => t.prefix + key);
      const [deleted, free, kept, moved, zero] = keys as [string, string, string, string, string];
      await t.store.txn({ then: keys.map((key) => putOp(key, '', one.id)) });
      await t.store.txn({ then: [{ kind: 'delete', range: { key: deleted } }, putOp(moved, '', other.id)] });
      await put(t.store, free);
      await put(t.store, zero, '', 0n);
      expect((await t.store.leaseInfo(one.id))?.keys).toEqual([kept]);
      expect((await t.store.leaseInfo(other.id))?.keys).toEqual([moved]);
      await t.store.revokeLease(one.id);
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([free, moved, zero]);
      expect((await t.store.get(zero)).kv?.lease).toBe(0n);
    });

    it('a key deleted and put again without the lease survives it', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      await put(t.store, `${t.prefix}a`, '', id);
      await t.store.txn({ then: [{ kind: 'delete', range: { prefix: t.prefix } }] });
      await put(t.store, `${t.prefix}a`);
      const before = await fingerprint(t);
      await t.store.revokeLease(id);
      expect(await fingerprint(t)).toEqual(before);
    });
  });
}

/** Needs a backend whose leases have clocks. Waits for the deletes themselves, however long the backend takes. */
export function describeLeaseExpiry(open: Open): void {
  describe('lease expiry', () => {
    it('deletes the keys of the lease in one revision, and the lease', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(1);
      const keys = ['a', 'b'].map((key) => t.prefix + key);
      const { revision } = await t.store.txn({ then: [...keys, `${t.prefix}free`].map((key) => putOp(key, '', id)) });
      const freed = await put(t.store, `${t.prefix}free`);
      expect(freed).toBe(revision + 1);
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: freed + 1 });
      const events = eventsIn(await readEvents(watch, 2));
      expect(events.map(({ type, kv }) => [type, kv.key, kv.modRevision])).toEqual(
        keys.map((key) => ['delete', key, freed + 1]),
      );
      expect(await keysIn(t.store, { prefix: t.prefix })).toEqual([`${t.prefix}free`]);
      expect(await t.store.leases()).not.toContain(id);
      expect(await t.store.keepLeaseAlive(id)).toBe(0);
      await expectRefusal(put(t.store, `${t.prefix}late`, '', id), 'LeaseNotFound');
    });

    it('spares a lease that is kept alive for as long as it is', async () => {
      await using t = await open();
      const kept = await t.store.grantLease(1);
      const dying = await t.store.grantLease(1);
      const { revision } = await t.store.txn({
        then: [putOp(`${t.prefix}kept`, '', kept.id), putOp(`${t.prefix}dying`, '', dying.id)],
      });
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: revision + 1 });
      const keeping = setInterval(() => void t.store.keepLeaseAlive(kept.id).catch(() => {}), 100);
      const first = await nextBatch(watch).finally(() => clearInterval(keeping));
      expect(first.events.map(({ kv }) => kv.key)).toEqual([`${t.prefix}dying`]);
      const second = await nextBatch(watch);
      expect(second.events.map(({ kv }) => kv.key)).toEqual([`${t.prefix}kept`]);
    });
  });
}
