/** Creates, guarded updates and deletes: what they change, and what they say when they change nothing. */
import { describe, expect, it } from 'vitest';
import { OvertakenError } from '../../../src/server/storage/object-storage.ts';
import { change, configMap, everything, type OpenStorage, put, remove, textOf } from './storage-under-test.ts';

export function describeWrites(open: OpenStorage): void {
  describe('create()', () => {
    it('creates once: the second finds it taken, and changes nothing', async () => {
      await using t = await open();
      const created = await put(t.storage, configMap('a/x', '1'));
      expect(await t.store.revision()).toBe(created.revision);
      expect(await t.storage.create(configMap('a/x', '2'))).toBeUndefined();
      expect(await t.store.revision()).toBe(created.revision);
      expect(textOf(await t.storage.get('a', 'x'))).toBe('1');
    });

    it('takes a name again that was deleted', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x', '1'));
      await remove(t.storage, first);
      const second = await put(t.storage, configMap('a/x', '2'));
      expect(second.revision).toBe(first.revision + 2);
      expect(await t.storage.update(first, configMap('a/x', '3'))).toMatchObject({
        instead: { revision: second.revision },
      });
    });

    it('of many at once lets one win', async () => {
      await using t = await open();
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, at) => t.storage.create(configMap('a/x', String(at)))),
      );
      expect(made.filter((one) => one !== undefined)).toHaveLength(1);
    });
  });

  describe('update() and delete()', () => {
    it('change what they have seen and nothing else', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x', '1'));
      const second = await change(t.storage, first, configMap('a/x', '2'));
      expect(second.revision).toBe(first.revision + 1);
      for (const outcome of [
        await t.storage.update(first, configMap('a/x', '3')),
        await t.storage.delete(first),
        await t.storage
          .update(first, configMap('a/x', '1'))
          .then((done) => ('stored' in done ? { instead: second } : done)),
      ])
        expect('instead' in outcome && textOf(outcome.instead)).toBe('2');
      const deleted = await remove(t.storage, second);
      expect([deleted.revision, textOf(deleted)]).toEqual([first.revision + 2, '2']);
      expect(deleted.parse().metadata.resourceVersion).toBe(String(deleted.revision));
      expect(await t.storage.update(second, configMap('a/x', '4'))).toEqual({ instead: undefined });
      expect(await t.storage.delete(second)).toEqual({ instead: undefined });
    });

    it('write nothing when nothing changes, whatever the order of fields', async () => {
      await using t = await open();
      const object = configMap('a/x', '1', { a: '1', b: '2' });
      const first = await put(t.storage, object);
      const { kind, apiVersion, metadata, data } = object;
      const turned = { data: data!, metadata: { ...metadata, labels: { b: '2', a: '1' } }, kind, apiVersion };
      expect(await t.storage.update(first, turned)).toEqual({ stored: first });
      expect(await t.store.revision()).toBe(first.revision);
    });

    it('lose none of many changes made at once', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x'));
      await Promise.all(
        Array.from({ length: 12 }, async (_, writer) => {
          for (let current = first; ; ) {
            const old = current.parse();
            const data = { ...(old.data as object), [`w${writer}`]: '1' };
            const outcome = await t.storage.update(current, { ...old, data });
            if ('stored' in outcome) return;
            current = outcome.instead!;
          }
        }),
      );
      const last = await t.storage.get('a', 'x');
      expect(Object.keys(last!.parse().data as object)).toHaveLength(13);
      expect(last!.revision).toBe(first.revision + 12);
    });

    it('with a guard happen only while none of the other kind is there', async () => {
      await using t = await open();
      const secrets = t.storageOf('', 'secrets');
      const guard = { whileNone: secrets.keys };
      const first = await put(t.storage, configMap('a/x', '1'));
      const other = await put(secrets, { ...configMap('b/y'), kind: 'Secret' });
      expect(await t.storage.update(first, configMap('a/x', '2'), guard)).toMatchObject({ instead: { key: 'a/x' } });
      expect(await t.storage.delete(first, guard)).toMatchObject({ instead: { revision: first.revision } });
      await remove(secrets, other);
      const outcome = await t.storage.update(first, configMap('a/x', '2'), guard);
      expect('stored' in outcome && textOf(outcome.stored)).toBe('2');
      expect('deleted' in (await t.storage.delete('stored' in outcome ? outcome.stored : first, guard))).toBe(true);
      expect((await t.storage.list(everything)).count).toBe(0);
    });

    it('with a guard happen only while none of their kind was written since', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x', '1'));
      const guard = { unchanged: t.storage.keys, since: first.revision };
      expect(await t.storage.create(configMap('a/x', '2'), guard)).toBe(undefined); // there is one, whatever else is so
      const second = (await t.storage.create(configMap('a/y', '1'), guard))!;
      await expect(t.storage.create(configMap('a/z', '1'), guard)).rejects.toThrow(OvertakenError);
      expect(await t.storage.update(first, configMap('a/x', '2'), guard)).toMatchObject({ instead: { key: 'a/x' } });
      const since = { ...guard, since: second.revision };
      expect(await t.storage.create(configMap('a/z', '1'), since)).toMatchObject({ key: 'a/z' });
      expect((await t.storage.list(everything)).count).toBe(3);
    });
  });
}
