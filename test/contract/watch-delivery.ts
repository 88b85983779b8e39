/** Watches under load: progress that is true, many watchers, slow readers. */
import { describe, expect, it } from 'vitest';
import type { WatchBatch } from '../../src/store/kv.ts';
import { History, violations } from '../support/store/history.ts';
import { bytes, type Open, put, putOp, remove } from '../support/store/store-under-test.ts';
import { eventsIn, namesIn, nextBatch, readEvents, readThrough } from '../support/store/watching.ts';

export function describeWatchDelivery(open: Open): void {
  describe('watch() under load', () => {
    it('requestProgress() after writes outside the range yields an empty batch at or above them', async () => {
      await using t = await open();
      await using watch = t.store.watch({ prefix: `${t.prefix}in/` });
      await watch.started();
      const outside = await put(t.store, `${t.prefix}out`);
      const quiet = await readThrough(watch, outside);
      expect(eventsIn(quiet)).toEqual([]);
      expect(quiet.at(-1)!.revision).toBe(outside);
      const inside = await put(t.store, `${t.prefix}in/a`);
      const after = await readEvents(watch, 1);
      expect(eventsIn(after).map(({ kv }) => kv.modRevision)).toEqual([inside]);
    });

    it('after progress nothing at or below it follows, while writers go on', async () => {
      await using t = await open();
      const history = new History();
      const fromRevision = (await t.store.revision()) + 1;
      await using watch = t.store.watch({ prefix: `${t.prefix}in/` }, { fromRevision });
      const written: [revision: number, key: string][] = [];
      const writer = async (name: string) => {
        for (let i = 0; i < 40; i++) {
          const key = `${t.prefix}${i % 3 === 0 ? 'out' : 'in'}/${name}${i % 4}`;
          written.push([await put(t.store, key, name), key]);
          watch.requestProgress();
        }
      };
      const writing = Promise.all(['a', 'b', 'c', 'd'].map(writer));
      const reading = readThrough(watch, fromRevision + 4 * 40 - 1);
      await writing;
      const batches = await reading;
      for (const [revision, key] of written.sort(([a], [b]) => a - b))
        history.record(revision, [{ key, value: bytes(key.at(-2)!) }]);
      expect(violations({ range: { prefix: `${t.prefix}in/` }, fromRevision, batches }, history)).toEqual([]);
    });

    it('a watch resumed after progress misses nothing', async () => {
      await using t = await open();
      await using first = t.store.watch({ prefix: `${t.prefix}in/` });
      await first.started();
      const outside = await put(t.store, `${t.prefix}out`);
      const progress = (await readThrough(first, outside)).at(-1)!;
      await first.return();
      const inside = await put(t.store, `${t.prefix}in/a`);
      await using second = t.store.watch({ prefix: `${t.prefix}in/` }, { fromRevision: progress.revision + 1 });
      expect(eventsIn(await readEvents(second, 1)).map(({ kv }) => kv.modRevision)).toEqual([inside]);
    });

    it('200 watchers of one prefix all get everything', async () => {
      await using t = await open();
      const fromRevision = (await t.store.revision()) + 1;
      const range = { prefix: t.prefix };
      const watches = Array.from({ length: 200 }, () => t.store.watch(range, { fromRevision }));
      const history = new History();
      let last = fromRevision;
      for (let i = 0; i < 30; i++) {
        const key = `${t.prefix}${i % 5}`;
        const isDelete = i % 7 === 6;
        last = isDelete ? await remove(t.store, { key }) : await put(t.store, key, `${i}`);
        history.record(last, [{ key, value: isDelete ? undefined : bytes(`${i}`) }]);
      }
      const all = await Promise.all(watches.map((watch) => readEvents(watch, 30)));
      for (const batches of all) expect(violations({ range, fromRevision, batches }, history)).toEqual([]);
      await Promise.all(watches.map((watch) => watch.return()));
    });

    it('a reader that does not read delays nobody, and still gets everything', async () => {
      await using t = await open();
      const range = { prefix: t.prefix };
      const fromRevision = (await t.store.revision()) + 1;
      await using slow = t.store.watch(range, { fromRevision, prevKv: true });
      await using fast = t.store.watch(range, { fromRevision, prevKv: true });
      const history = new History();
      const fastBatches: WatchBatch[] = [];
      const blockOf = (i: number) => new Uint8Array(64 * 1024).fill(i);
      for (let i = 0; i < 100; i++) {
        const key = `${t.prefix}${i % 3}`;
        const value = blockOf(i);
        const { revision } = await t.store.txn({ then: [{ kind: 'put', key, value }] });
        history.record(revision, [{ key, value }]);
        fastBatches.push(await nextBatch(fast));
      }
      const recording = { range, fromRevision, prevKv: true };
      expect(violations({ ...recording, batches: fastBatches }, history)).toEqual([]);
      expect(eventsIn(fastBatches)).toHaveLength(100);
      expect(violations({ ...recording, batches: await readEvents(slow, 100) }, history)).toEqual([]);
    });

    it('a reader that stops in the middle and is compacted away learns it, or gets everything, never a gap', async () => {
      await using t = await open();
      const range = { prefix: t.prefix };
      const fromRevision = (await t.store.revision()) + 1;
      await using slow = t.store.watch(range, { fromRevision });
      const history = new History();
      const value = new Uint8Array(256 * 1024).fill(7);
      let last = fromRevision;
      for (let i = 0; i < 80; i++) {
        last = (await t.store.txn({ then: [{ kind: 'put', key: `${t.prefix}a`, value }] })).revision;
        history.record(last, [{ key: `${t.prefix}a`, value }]);
      }
      await t.store.compact(last, { physical: true });
      const batches: WatchBatch[] = [];
      let end: unknown;
      try {
        while (eventsIn(batches.slice(-1)).at(-1)?.kv.modRevision !== last) batches.push(await nextBatch(slow));
      } catch (err) {
        end = err;
      }
      expect(violations({ range, fromRevision, batches }, history)).toEqual([]);
      if (end !== undefined) expect(end).toMatchObject({ code: 'Compacted', compactRevision: last });
      else expect(eventsIn(batches)).toHaveLength(80);
    });

    it('a long history comes whole, in order, and goes over into what happens live', async () => {
      await using t = await open();
      const range = { prefix: t.prefix };
      const history = new History();
      const fromRevision = (await t.store.revision()) + 1;
      const keys = Array.from({ length: 5 }, (_, i) => `${t.prefix}${i}`);
      const writeOne = async () => {
        const { revision } = await t.store.txn({ then: keys.map((key) => putOp(key)) });
        return () =>
          history.record(
            revision,
            keys.map((key) => ({ key, value: bytes('') })),
          );
      };
      const past = await Promise.all(Array.from({ length: 1200 }, writeOne));
      await using watch = t.store.watch(range, { fromRevision });
      const live = Promise.all(Array.from({ length: 100 }, writeOne));
      const batches = await readEvents(watch, 1300 * keys.length);
      await live;
      expect(past).toHaveLength(1200);
      const revisions = batches.map(({ events }) => new Set(events.map(({ kv }) => kv.modRevision)));
      expect(revisions.flatMap((set) => [...set])).toEqual(Array.from({ length: 1300 }, (_, i) => fromRevision + i));
      expect(namesIn(batches)).toEqual(Array.from({ length: 1300 }, () => keys.map((key) => `put ${key}`)).flat());
    });
  });
}
