/** Watches: where they begin, that they give every change once and in order, and how they end. */
import { describe, expect, it, vi } from 'vitest';
import type { ObjectStorage } from '../../../src/server/storage/object-storage.ts';
import type { StoredObject } from '../../../src/server/storage/objects/stored-object.ts';
import { eventually } from '../../support/eventually.ts';
import { Random, seedOf } from '../../support/random.ts';
import {
  change,
  configMap,
  never,
  type OpenStorage,
  put,
  remove,
  type StorageUnderTest,
  type Watching,
  watching,
} from './storage-under-test.ts';

const RED = { color: 'red' };

export function describeWatches(open: OpenStorage): void {
  describe('watch()', () => {
    it('gives the state, a bookmark, and then what changes for whoever selects it', async () => {
      await using t = await open();
      const one = await put(t.storage, configMap('a/one', '', RED));
      const two = await put(t.storage, configMap('b/two'));
      const all = await watching(t.storage);
      const red = await watching(t.storage, 'color=red');
      const left = await change(t.storage, one, configMap('a/one'));
      const back = await change(t.storage, left, configMap('a/one', 'x', RED));
      const gone = await remove(t.storage, back);
      const last = await put(t.storage, configMap('c/three'));
      await expectEvents(all, [
        `ADDED a/one@${one.revision}`,
        `ADDED b/two@${two.revision}`,
        `BOOKMARK @${two.revision} end`,
        `MODIFIED a/one@${left.revision}`,
        `MODIFIED a/one@${back.revision}`,
        `DELETED a/one@${gone.revision}`,
        `ADDED c/three@${last.revision}`,
      ]);
      await expectEvents(red, [
        `ADDED a/one@${one.revision}`,
        `BOOKMARK @${two.revision} end`,
        `DELETED a/one@${left.revision}`,
        `ADDED a/one@${back.revision}`,
        `DELETED a/one@${gone.revision}`,
      ]);
    });

    it('from a version gives every change after it, and none before', async () => {
      await using t = await open();
      const written: StoredObject[] = [];
      for (let at = 0; at < 12; at++) written.push(await put(t.storage, configMap(`a/${at}`)));
      for (const from of [0, 3, 10, 11]) {
        const resourceVersion = String(written[from]!.revision);
        const begun = await watching(t.storage, '', { resourceVersion, sendsInitialEvents: false });
        await expectEvents(
          begun,
          written.slice(from + 1).map(({ key, revision }) => `ADDED ${key}@${revision}`),
        );
        begun.watch.end('timeout-over');
      }
    });

    it('from a version that is yet to come gives what comes after that', async () => {
      await using t = await open();
      const { revision } = await put(t.storage, configMap('a/old'));
      const options = { resourceVersion: String(revision + 3), sendsInitialEvents: false };
      const begun = await watching(t.storage, '', options);
      for (let at = 1; at <= 6; at++) await put(t.storage, configMap(`a/${at}`));
      await expectEvents(
        begun,
        [4, 5, 6].map((at) => `ADDED a/${at}@${revision + at}`),
      );
    });

    it('without a state and a version begins now', async () => {
      await using t = await open();
      await put(t.storage, configMap('a/old'));
      await caughtUp(t.storage); // "now" is what a cache knows
      const { client, ...begun } = await watching(t.storage, '', { sendsInitialEvents: false });
      const next = await put(t.storage, configMap('a/new'));
      await expectEvents({ client, ...begun }, [`ADDED a/new@${next.revision}`]);
    });

    it('begins with a state that is not older than it asks for, and says 504 of one that does not come', async () => {
      await using t = await open();
      const first = await put(t.storage, configMap('a/x'));
      const opening = watching(t.storage, '', { resourceVersion: String(first.revision + 1) });
      const second = await put(t.storage, configMap('a/y'));
      const { client } = await opening;
      await eventually(() => expect(client.events).toHaveLength(3));
      expect(client.events[1]).toBe(`ADDED a/y@${second.revision}`);
      const future = String(second.revision + 1_000_000);
      const refused = await watching(t.storage, '', { resourceVersion: future });
      await refused.done;
      expect([refused.client.events.length, refused.client.ends]).toEqual([1, 1]);
      expect(refused.client.events[0]).toContain(`Too large resource version: ${future}`);
    });

    it('from a version that is compacted is told so, and ends', async () => {
      await using t = await open();
      let current = await put(t.storage, configMap('a/x', '0'));
      const after = current.revision - 1;
      for (let at = 1; at < 12; at++) current = await change(t.storage, current, configMap('a/x', String(at)));
      // A watch cache may know longer than the store: it may serve what was asked for, but never a part of it.
      await caughtUp(t.storage);
      await t.store.compact(current.revision);
      const { client } = await watching(t.storage, '', { resourceVersion: String(after), sendsInitialEvents: false });
      await eventually(() => expect(client.events.length).toBeGreaterThan(0));
      if (client.events[0]!.startsWith('ERROR')) {
        expect(client.events).toEqual([expect.stringContaining('ERROR too old resource version: ')]);
        await eventually(() => expect(client.ends).toBe(1));
      } else await eventually(() => expect(client.events).toHaveLength(12));
    });

    it('loses nothing for a slow client, and sends it no bookmark meanwhile', async () => {
      await using t = await open();
      const begun = await watching(t.storage);
      const { client, watch } = begun;
      await eventually(() => expect(client.events).toHaveLength(1));
      client.room = 0;
      const want = [client.events[0]!];
      for (let at = 0; at < 10; at++) {
        const { revision } = await put(t.storage, configMap(`a/${at}`, 'x'.repeat(1000)));
        want.push(`ADDED a/${at}@${revision}`);
        // What comes at once may leave at once: the client is slow from its first event on.
        if (at === 0) await eventually(() => expect(client.events).toHaveLength(2));
      }
      await caughtUp(t.storage);
      expect([client.events.length, watch.sendBookmark()]).toEqual([2, false]);
      client.take(1e9);
      await expectEvents(begun, want);
    });

    it('sends bookmarks that reach the newest, never below what was sent', async () => {
      await using t = await open();
      const begun = await watching(t.storage);
      const { client, watch } = begun;
      const { revision } = await put(t.storage, configMap('a/x'));
      await put(t.storageOf('', 'secrets'), { ...configMap('a/other'), kind: 'Secret' });
      await eventually(() => {
        watch.askForProgress();
        expect(watch.sendBookmark()).toBe(true);
        expect(client.events.at(-1)).toBe(`BOOKMARK @${revision + 1}`);
      });
      const versions = client.events.map((event) => Number(event.match(/@(\d+)/)![1]));
      expect(versions).toEqual([...versions].sort((a, b) => a - b));
    });

    it.each(['its end', 'its client', 'the storage'])('ends once by %s, and leaves nothing behind', async (way) => {
      await using t = await open();
      await t.storage.catchUp(3000, never);
      const before = (await t.store.status()).watchers;
      const { client, watch, done } = await watching(t.storage);
      await eventually(() => expect(client.events).toHaveLength(1));
      const ended = vi.fn();
      watch.onEnd(ended);
      if (way === 'its client') client.leave();
      else if (way === 'its end') watch.end('timeout-over');
      else t.storage.endWatches('resource-changed');
      watch.end('timeout-over');
      await done;
      expect([client.ends, ended.mock.calls.length, watch.sendBookmark()]).toEqual([1, 1, false]);
      await put(t.storage, configMap('a/late'));
      expect(client.events).toHaveLength(1);
      await eventually(async () => expect((await t.store.status()).watchers).toBe(before));
    });

    it('gives every reader its history, wherever it begins and whatever it selects', async () => {
      const seed = seedOf('FUZZ_SEED');
      try {
        await using t = await open();
        await playHistory(t, new Random(seed));
      } catch (err) {
        throw new Error(`with FUZZ_SEED=${seed}: ${(err as Error).message}`, { cause: err });
      }
    });
  });
}

type Change = { readonly revision: number; readonly key: string; readonly now?: Labels; readonly before?: Labels };
type Labels = Record<string, string>;
type Reader = Watching & { readonly isRed: boolean; readonly after: number };

/** Random writes, with readers that begin anywhere in them; each must see what a list of the writes says it should. */
async function playHistory(t: StorageUnderTest, random: Random): Promise<void> {
  const history: Change[] = [];
  const there = new Map<string, { stored: StoredObject; labels: Labels }>();
  const readers: Reader[] = [];
  const begin = (await put(t.storage, configMap('z/first'))).revision;
  for (let step = 0; step < 60; step++) {
    const key = `${random.pick(['a', 'b'])}/${random.below(4)}`;
    const labels: Labels = random.chance(0.5) ? RED : {};
    const known = there.get(key);
    if (known && random.chance(0.3)) {
      const { revision } = await remove(t.storage, known.stored);
      there.delete(key);
      history.push({ revision, key, before: known.labels });
    } else {
      const object = configMap(key, String(step), labels);
      const stored = known ? await change(t.storage, known.stored, object) : await put(t.storage, object);
      there.set(key, { stored, labels });
      history.push({ revision: stored.revision, key, now: labels, ...(known && { before: known.labels }) });
    }
    if (!random.chance(0.2)) continue;
    const after = random.chance(0.5)
      ? history.at(-1)!.revision
      : random.pick([{ revision: begin }, ...history]).revision;
    const isRed = random.chance(0.5);
    const options = { resourceVersion: String(after), sendsInitialEvents: false, allowsBookmarks: false };
    const reader = await watching(t.storage, isRed ? 'color=red' : '', options);
    if (random.chance(0.5)) reader.client.room = random.below(2000);
    readers.push({ ...reader, isRed, after });
  }
  for (const reader of readers) {
    const want = history.filter(({ revision }) => revision > reader.after).flatMap((one) => eventOf(one, reader.isRed));
    await expectEvents(reader, want, () => reader.client.take(1e9));
  }
}

function eventOf({ revision, key, now, before }: Change, isRed: boolean): string[] {
  const sees = (labels: Labels | undefined) => labels !== undefined && (!isRed || labels === RED);
  if (sees(now)) return [`${sees(before) ? 'MODIFIED' : 'ADDED'} ${key}@${revision}`];
  return sees(before) ? [`DELETED ${key}@${revision}`] : [];
}

/** Until the storage knows all that the store has. */
async function caughtUp(storage: ObjectStorage): Promise<void> {
  await eventually(async () => expect(await storage.catchUp(3000, new AbortController().signal)).toBe(true));
}

/** That these come, and for a few turns nothing else. */
async function expectEvents({ client }: Watching, want: readonly string[], urge: () => void = () => {}): Promise<void> {
  await eventually(() => {
    urge();
    expect(client.events).toEqual(want);
  });
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(client.events).toEqual(want);
}
