/** Gets and lists: how new they are, and of which state. */
import { describe, expect, it } from 'vitest';
import { isExpired } from '../../../src/server/storage/object-storage.ts';
import { eventually } from '../../support/eventually.ts';
import {
  change,
  configMap,
  everything,
  never,
  type OpenStorage,
  put,
  remove,
  shown,
  textOf,
} from './storage-under-test.ts';

export function describeReads(open: OpenStorage): void {
  describe('get()', () => {
    it('has every write that was answered before', async () => {
      await using t = await open();
      let current = await put(t.storage, configMap('a/x', '0'));
      for (let at = 1; at < 20; at++) {
        current = await change(t.storage, current, configMap('a/x', String(at)));
        const found = await t.storage.get('a', 'x', { signal: never });
        expect([found?.revision, textOf(found)]).toEqual([current.revision, String(at)]);
        expect(found?.parse().metadata.resourceVersion).toBe(String(current.revision));
      }
      await remove(t.storage, current);
      expect(await t.storage.get('a', 'x')).toBeUndefined();
      expect(await t.storage.direct.get('a', 'x')).toBeUndefined();
    });

    it('gives the same bytes, whoever is asked', async () => {
      await using t = await open();
      const created = await put(t.storage, configMap('a/ünïcode', '<b>"\u2028"</b>', { 'x/y': 'z' }));
      const found = await t.storage.get('a', 'ünïcode');
      expect(found?.bytes.toString()).toBe(created.bytes.toString());
      expect((await t.storage.direct.get('a', 'ünïcode'))?.bytes.toString()).toBe(created.bytes.toString());
      expect([found?.namespace, found?.name, found?.key]).toEqual(['a', 'ünïcode', 'a/ünïcode']);
    });

    it('is not older than the version it names, and waits for that', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x', '1'));
      const next = String(first.revision + 1);
      const waiting = t.storage.get('a', 'x', { resourceVersion: next, signal: never });
      await change(t.storage, first, configMap('a/x', '2'));
      expect(textOf(await waiting)).toBe('2');
      expect(textOf(await t.storage.get('a', 'x', { resourceVersion: String(first.revision) }))).toBe('2');
    });

    it('says 504 of a version that does not come, and the reason of a signal', async () => {
      await using t = await open();
      const { revision } = await put(t.storage, configMap('a/x'));
      const future = String(revision + 1_000_000);
      const gone = new AbortController();
      const left = t.storage.get('a', 'x', { resourceVersion: future, signal: gone.signal });
      gone.abort(new Error('gone'));
      await expect(left).rejects.toThrow();
      await expect(t.storage.get('a', 'x', { resourceVersion: future, signal: never })).rejects.toMatchObject({
        code: 504,
        message: expect.stringContaining(`Too large resource version: ${future}`),
      });
    });

    it('gives what is at hand with version 0, once it has caught up the newest', async () => {
      await using t = await open();
      const { revision } = await put(t.storage, configMap('a/x', '1'));
      // A store that does not tell of its progress is not waited for: then it is asked again.
      await eventually(async () => expect(await t.storage.catchUp(3000, never)).toBe(true));
      expect((await t.storage.get('a', 'x', { resourceVersion: '0', signal: never }))?.revision).toBe(revision);
      expect([undefined, revision]).toContain(t.storage.peek('a', 'x')?.revision);
      expect(t.storage.peek('a', 'none')).toBeUndefined();
    });
  });

  describe('list()', () => {
    it('gives a scope in the order of keys, from a key on, and counts what is left', async () => {
      await using t = await open();
      for (const key of ['b/1', 'a/2', 'a/1', 'a/3', 'a-b/1', 'ab/1']) await put(t.storage, configMap(key));
      const keys = async (more: object) => {
        const { objects, count } = await t.storage.list({ ...everything, ...more });
        return [count, ...objects.map(({ key }) => key)];
      };
      expect(await keys({})).toEqual([6, 'a-b/1', 'a/1', 'a/2', 'a/3', 'ab/1', 'b/1']);
      expect(await keys({ scope: 'a/', start: 'a/' })).toEqual([3, 'a/1', 'a/2', 'a/3']);
      expect(await keys({ scope: 'a/', start: 'a/1\0' })).toEqual([2, 'a/2', 'a/3']);
      expect(await keys({ scope: 'a/', start: 'a/', limit: 2 })).toEqual([3, 'a/1', 'a/2']);
      expect(await keys({ scope: 'none/', start: 'none/' })).toEqual([0]);
    });

    it('is the state of its revision, also an old one, whatever happened since', async () => {
      await using t = await open();
      const states: { revision: number; objects: string[] }[] = [];
      const note = async () => {
        const { objects, revision } = await t.storage.list(everything);
        states.push({ revision, objects: shown(objects) });
      };
      let x = await put(t.storage, configMap('a/x', '0'));
      const y = await put(t.storage, configMap('b/y', '0'));
      await note();
      for (let at = 1; at < 6; at++) {
        x = await change(t.storage, x, configMap('a/x', String(at)));
        await note();
      }
      await remove(t.storage, y);
      await put(t.storage, configMap('c/z'));
      await note();
      for (const { revision, objects } of states) {
        const found = await t.storage.list({ ...everything, at: { revision } });
        expect([found.revision, ...shown(found.objects)]).toEqual([revision, ...objects]);
        const [first] = (await t.storage.list({ ...everything, limit: 1, at: { revision } })).objects;
        expect(shown([first!])).toEqual(objects.slice(0, 1));
      }
    });

    it('waits for a revision that is about to come', async () => {
      await using t = await open();
      const { revision } = await put(t.storage, configMap('a/x'));
      const waiting = [{ revision: revision + 1 }, { resourceVersion: String(revision + 1) }].map((at) =>
        t.storage.list({ ...everything, at }),
      );
      await put(t.storage, configMap('a/y'));
      for (const { objects } of await Promise.all(waiting)) expect(objects).toHaveLength(2);
    });

    it('of a state that is compacted says so, and of the present not', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x', '1'));
      const second = await change(t.storage, first, configMap('a/x', '2'));
      await t.store.compact(second.revision);
      const refused = await t.storage.list({ ...everything, at: { revision: first.revision } }).catch((err) => err);
      expect(isExpired(refused)).toBe(true);
      expect(shown((await t.storage.list(everything)).objects)).toEqual([`a/x@${second.revision} 2`]);
      const at = { resourceVersion: String(first.revision) };
      const { revision } = await t.storage.list({ ...everything, at });
      expect(revision).toBeGreaterThanOrEqual(first.revision);
    });

    it('of a kind without namespaces finds names with dots and dashes', async () => {
      await using t = await open();
      const nodes = t.storageOf('', 'nodes');
      for (const name of ['n.2', 'n-1']) {
        const metadata = { name, uid: name };
        expect((await nodes.create({ kind: 'Node', apiVersion: 'v1', metadata }))?.key).toBe(name);
      }
      const { objects } = await nodes.list(everything);
      expect(objects.map(({ namespace, name }) => [namespace, name])).toEqual([
        ['', 'n-1'],
        ['', 'n.2'],
      ]);
      expect((await nodes.get('', 'n.2'))?.name).toBe('n.2');
    });
  });
}
