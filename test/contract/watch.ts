/** What a watch delivers: from where, of which keys, in which shape and order. */
import { describe, expect, it } from 'vitest';
import type { Key, KeyRange, Store } from '../../src/store/kv.ts';
import { type Change, History, resumeViolations, violations } from '../support/store/history.ts';
import { bytes, type Open, plain, put, putOp, remove } from '../support/store/store-under-test.ts';
import {
  eventsIn,
  namesIn,
  nextBatch,
  plainEvent,
  readEvents,
  readThrough,
  record,
} from '../support/store/watching.ts';

/** Some revisions of every kind: creations, updates, deletes, several keys at once, a second life. */
async function writeStory(store: Store, p: Key): Promise<{ history: History; first: number; last: number }> {
  const history = new History();
  const first = (await store.revision()) + 1;
  const put = (key: string, text: string): Change => ({ key: p + key, value: bytes(text) });
  const gone = (key: string): Change => ({ key: p + key, value: undefined });
  const story: Change[][] = [
    [put('a', '1')],
    [put('b', '1'), put('ab', '1'), put('c', '1')],
    [put('a', '2')],
    [gone('a'), gone('ab')],
    [put('b', '2'), gone('c'), put('d', '1')],
    [put('a', '3')],
    [put('a', '')],
  ];
  let last = first;
  for (const changes of story) {
    const then = changes.map(({ key, value }) =>
      value ? ({ kind: 'put', key, value } as const) : ({ kind: 'delete', range: { key } } as const),
    );
    last = (await store.txn({ then })).revision;
    history.record(last, changes);
  }
  return { history, first, last };
}

export function describeWatches(open: Open): void {
  describe('watch()', () => {
    it('from the past delivers the whole history, then goes on with what happens', async () => {
      await using t = await open();
      const { history, first, last } = await writeStory(t.store, t.prefix);
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: first, prevKv: true });
      const batches = await readThrough(watch, last);
      const revision = await put(t.store, `${t.prefix}live`, 'now');
      history.record(revision, [{ key: `${t.prefix}live`, value: bytes('now') }]);
      batches.push(...(await readThrough(watch, revision)));
      const recording = { range: { prefix: t.prefix }, fromRevision: first, prevKv: true, batches };
      expect(violations(recording, history)).toEqual([]);
      expect(eventsIn(batches)).toHaveLength(13);
    });

    it('from now delivers everything after the call, and nothing before', async () => {
      await using t = await open();
      await put(t.store, `${t.prefix}before`);
      await using watch = t.store.watch({ prefix: t.prefix });
      await watch.started();
      const { history, first, last } = await writeStory(t.store, t.prefix);
      const batches = await readThrough(watch, last);
      expect(violations({ range: { prefix: t.prefix }, fromRevision: first, batches }, history)).toEqual([]);
    });

    it('sees a write that was made right after the call, without waiting for it to start', async () => {
      await using t = await open();
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: (await t.store.revision()) + 1 });
      await put(t.store, `${t.prefix}a`);
      expect(namesIn(await readEvents(watch, 1))).toEqual([`put ${t.prefix}a`]);
    });

    it('from the future delivers from there on, though its keys change before', async () => {
      await using t = await open();
      const now = await t.store.revision();
      await using watch = t.store.watch({ prefix: t.prefix }, { fromRevision: now + 3 });
      for (const key of ['a', 'b', 'c', 'd']) await put(t.store, t.prefix + key);
      const batches = await readEvents(watch, 2);
      expect(namesIn(batches)).toEqual([`put ${t.prefix}c`, `put ${t.prefix}d`]);
      expect(eventsIn(batches).map((event) => event.kv.modRevision)).toEqual([now + 3, now + 4]);
    });

    it('started() answers the revision after which everything is seen', async () => {
      await using t = await open();
      const revision = await put(t.store, `${t.prefix}a`);
      await using past = t.store.watch({ prefix: t.prefix }, { fromRevision: revision });
      expect(await past.started()).toBe(revision - 1);
      await using now = t.store.watch({ prefix: t.prefix });
      const started = await now.started();
      expect(started).toBeGreaterThanOrEqual(revision);
      const next = await put(t.store, `${t.prefix}b`);
      expect(started).toBeLessThan(next);
      expect(namesIn(await readEvents(now, 1))).toEqual([`put ${t.prefix}b`]);
    });

    it('a put event carries the whole pair', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      const first = await put(t.store, `${t.prefix}a`, 'one');
      const second = await put(t.store, `${t.prefix}a`, 'two', id);
      const { batches } = await record(t.store, { prefix: t.prefix }, second, { fromRevision: first });
      const fixed = { key: `${t.prefix}a`, createRevision: first };
      expect(eventsIn(batches).map(plainEvent)).toEqual([
        { type: 'put', kv: { ...fixed, value: 'one', modRevision: first, version: 1, lease: 0n }, prevKv: undefined },
        { type: 'put', kv: { ...fixed, value: 'two', modRevision: second, version: 2, lease: id }, prevKv: undefined },
      ]);
    });

    it('a delete event carries the key and the revision, and zeros otherwise', async () => {
      await using t = await open();
      const { id } = await t.store.grantLease(3600);
      await put(t.store, `${t.prefix}a`, 'one', id);
      const before = plain((await t.store.get(`${t.prefix}a`)).kv);
      const revision = await remove(t.store, { prefix: t.prefix });
      const options = { fromRevision: revision, prevKv: true };
      const { batches } = await record(t.store, { prefix: t.prefix }, revision, options);
      const kv = { key: `${t.prefix}a`, value: '', createRevision: 0, modRevision: revision, version: 0, lease: 0n };
      expect(eventsIn(batches).map(plainEvent)).toEqual([{ type: 'delete', kv, prevKv: before }]);
    });

    it('previous pairs come only if asked for, and never with a creation', async () => {
      await using t = await open();
      const { first, last } = await writeStory(t.store, t.prefix);
      const plainly = await record(t.store, { prefix: t.prefix }, last, { fromRevision: first });
      expect(eventsIn(plainly.batches).filter((event) => event.prevKv)).toEqual([]);
      const { batches } = await record(t.store, { prefix: t.prefix }, last, { fromRevision: first, prevKv: true });
      const isCreation = ({ kv, type }: { kv: { version: number }; type: string }) =>
        type === 'put' && kv.version === 1;
      for (const event of eventsIn(batches)) expect(event.prevKv === undefined).toBe(isCreation(event));
    });

    it('the changes of one transaction come in one batch, in the order they were made', async () => {
      await using t = await open();
      const keys = Array.from({ length: 100 }, (_, i) => `${t.prefix}${(i * 37) % 100}`);
      await using watch = t.store.watch({ prefix: t.prefix });
      await watch.started();
      const { revision } = await t.store.txn({ then: keys.map((key) => putOp(key)) });
      const deleted = await remove(t.store, { prefix: t.prefix });
      const batches = await readEvents(watch, 200);
      const inRevision = (wanted: number) =>
        batches
          .map(({ events }) => events.filter(({ kv }) => kv.modRevision === wanted))
          .filter((part) => part.length > 0);
      expect(inRevision(revision).map((part) => part.map(({ kv }) => kv.key))).toEqual([keys]);
      expect(inRevision(deleted).map((part) => part.map(({ kv }) => kv.key))).toEqual([[...keys].sort()]);
    });

    it.each<[what: string, range: (p: Key) => KeyRange]>([
      ['one key, not those it is a prefix of', (p) => ({ key: `${p}a` })],
      ['a prefix', (p) => ({ prefix: `${p}a` })],
      ['an interval, without its end', (p) => ({ start: `${p}ab`, end: `${p}c` })],
      ['all from a key on', (p) => ({ start: `${p}b` })],
    ])('of %s delivers that and nothing else, from the past and live', async (_what, range) => {
      await using t = await open();
      const from = (await t.store.revision()) + 1;
      const options = { fromRevision: from, prevKv: true };
      await using live = t.store.watch(range(t.prefix), options);
      const { history, last } = await writeStory(t.store, t.prefix);
      const past = await record(t.store, range(t.prefix), last, options);
      expect(violations(past, history)).toEqual([]);
      expect(violations({ ...past, batches: await readThrough(live, last) }, history)).toEqual([]);
    });

    it('resumed after any batch delivers exactly the rest', async () => {
      await using t = await open();
      const { history, first, last } = await writeStory(t.store, t.prefix);
      const options = { fromRevision: first, prevKv: true };
      const whole = await record(t.store, { prefix: t.prefix }, last, options);
      for (let read = 1; read <= whole.batches.length; read++) {
        const part = { ...whole, batches: whole.batches.slice(0, read) };
        const fromRevision = part.batches.at(-1)!.revision + 1;
        const later = await put(t.store, `${t.prefix}a`, `resumed ${read}`);
        history.record(later, [{ key: `${t.prefix}a`, value: bytes(`resumed ${read}`) }]);
        const rest = await record(t.store, { prefix: t.prefix }, later, { fromRevision, prevKv: true });
        expect(resumeViolations(part, rest, history)).toEqual([]);
      }
    });

    it('two watches of one store do not disturb each other', async () => {
      await using t = await open();
      await using a = t.store.watch({ prefix: `${t.prefix}a` });
      await using b = t.store.watch({ prefix: `${t.prefix}b` });
      await Promise.all([a.started(), b.started()]);
      await put(t.store, `${t.prefix}a`);
      expect(namesIn(await readEvents(a, 1))).toEqual([`put ${t.prefix}a`]);
      await a.return();
      await put(t.store, `${t.prefix}b`);
      const batch = await nextBatch(b);
      expect(namesIn([batch])).toEqual([`put ${t.prefix}b`]);
    });
  });
}
