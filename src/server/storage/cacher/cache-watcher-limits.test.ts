import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import type { Selection } from '../objects/selection.ts';
import { StreamClient } from '../stream-client.testing.ts';
import { Ground, labelled, store, turns, useStore } from './cache-watcher.testing.ts';
import type { CacheWatcher } from './cache-watcher.ts';

useStore();

describe('CacheWatcher', () => {
  it('ends once, whoever ends it, and leaves nothing behind', async () => {
    for (const way of ['end', 'client', 'fail', 'twice'] as const) {
      const ground = new Ground();
      await ground.settled();
      const client = new StreamClient();
      const watch = ground.watch(client);
      const ended = vi.fn();
      watch.onEnd(ended);
      await watch.start();
      expect(ground.cache.watchers.size).toBe(1);
      if (way === 'client') client.leave();
      else if (way === 'fail') watch.fail(new Error('broken'));
      else watch.end('client-left');
      if (way === 'twice') watch.end('client-left');
      watch.fail(new Error('too late'));
      await ground.write(ground.put('a/x'));
      await ground.settled();
      expect(client.events).toEqual(way === 'fail' ? ['ERROR broken'] : []);
      expect([client.ends, ended.mock.calls.length, ground.cache.watchers.size]).toEqual([1, 1, 0]);
      const late = vi.fn();
      watch.onEnd(late);
      expect(late).toHaveBeenCalledOnce();
    }
  });

  it('stays ended when the client leaves in the middle of a delivery', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client);
    await watch.start();
    client.room = 0;
    client.onWrite = () => client.leave();
    await ground.write(ground.put('a/x'));
    await ground.settled();
    await turns(3);
    expect([watch.isLive, ground.cache.watchers.size]).toEqual([false, 0]);
  });

  it.each(['initial', 'behind'])('stops writing when the client leaves in state %s', async (state) => {
    const ground = new Ground();
    for (let at = 0; at < 30; at++) await ground.write(ground.put(`a/${at}`, { text: 'x'.repeat(30_000) }));
    await ground.settled();
    const client = new StreamClient();
    client.room = 0;
    const watch = ground.watch(client, state === 'initial' ? { initial: ground.cache.objects.values() } : {});
    const started = watch.start();
    if (state === 'behind') {
      await started;
      for (let at = 0; at < 3; at++) await ground.write(ground.put('a/x', { text: String(at) }));
      await ground.settled();
    }
    await turns(2);
    const { length } = client.text;
    client.leave();
    await started;
    await turns(3);
    expect([client.text.length, ground.cache.watchers.size, watch.isLive]).toEqual([length, 0, false]);
  });

  it('never gives a client so much at once that it is cut off', async () => {
    const ground = new Ground();
    const start = await ground.settled();
    const text = 'x'.repeat(100_000);
    for (let at = 0; at < 250; at++) await ground.write(ground.put(`a/${at}`, { text }));
    await ground.settled();
    const client = new StreamClient();
    client.room = 256 * 1024;
    const stop = client.takeAlways();
    const watch = ground.watch(client, { after: start });
    await watch.start();
    stop();
    expect([client.isCutOff, watch.isLive, client.events.length]).toEqual([false, true, 250]);
  });

  it.each(['initial', 'window', 'log'])(
    'lets others have their turn while nothing of a long %s matches',
    async (from) => {
      const ground = new Ground(from === 'log' ? { maxEvents: 10 } : {});
      const start = await ground.settled();
      const COUNT = 6000;
      const ops = Array.from({ length: COUNT }, (_, at) => ground.put(`a/${at}`));
      for (let at = 0; at < COUNT; at += 100) await ground.write(...ops.slice(at, at + 100));
      await ground.settled();
      let passed = 0;
      let isOver = false;
      const count = () => {
        passed++;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      const selection = labelled('color=red');
      const initial = from === 'initial' ? { initial: ground.cache.objects.values() } : { after: start };
      await ground.watch(new StreamClient(), { selection, ...initial }).start();
      isOver = true;
      expect(passed).toBeGreaterThanOrEqual(3);
    },
  );

  it('gives every client exactly what its selection says, however slow, whenever it came', async () => {
    const key = fc.constantFrom('a/x', 'a/y', 'b/x');
    const change = fc.record({ key, isDelete: fc.nat(3), red: fc.boolean(), node: fc.constantFrom('n1', 'n2') });
    const deed = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('write' as const),
          changes: fc.uniqueArray(change, { minLength: 1, maxLength: 3, selector: (one) => one.key }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('take' as const), room: fc.constantFrom(0, 500, 5000, 1e9) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('bookmark' as const) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('join' as const), selection: fc.nat(3), back: fc.nat(8) }),
      },
    );
    const selections = [
      labelled(''),
      labelled('color=red'),
      labelled('', 'spec.nodeName=n1'),
      labelled('color=red', 'metadata.namespace=a'),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 5, maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        async (script, maxEvents) => {
          const ground = new Ground({ maxEvents });
          const start = await ground.settled();
          const readers: { client: StreamClient; watch: CacheWatcher; after: number; selection: Selection }[] = [];
          for (const one of script) {
            if (one.kind === 'write') {
              const ops = one.changes.map(({ key, isDelete, red, node }) =>
                isDelete === 0 ? ground.remove(key) : ground.put(key, { labels: red ? { color: 'red' } : {}, node }),
              );
              await ground.write(...ops);
            } else if (one.kind === 'take') for (const { client } of readers) client.take(one.room);
            else if (one.kind === 'bookmark') for (const { watch } of readers) watch.sendBookmark();
            else if (one.kind === 'turn') await nextTurn();
            else {
              const selection = selections[one.selection]!;
              const after = Math.max(start, ground.cache.revision - one.back);
              const client = new StreamClient();
              client.room = 500;
              const watch = ground.watch(client, { selection, after });
              readers.push({ client, watch, after, selection });
              void watch.start();
            }
          }
          const last = await ground.settled();
          for (const { client } of readers) client.take(1e9);
          for (const { client, watch } of readers)
            await eventually(() => {
              client.take(1e9);
              expect(watch.isLive).toBe(true);
            });
          // The truth: a watch of the store from the very beginning.
          const truth: { revision: number; event: string; at: number }[][] = readers.map(() => []);
          if (last > start) {
            const log = store.watch({ prefix: ground.prefix }, { fromRevision: start + 1, prevKv: true });
            log.requestProgress();
            for await (const batch of log) {
              for (const { type, kv, prevKv } of batch.events)
                for (const [at, { selection, after }] of readers.entries()) {
                  if (kv.modRevision <= after) continue;
                  const now = type === 'put' && selection.matches(ground.cache.direct.decode(kv));
                  const before = prevKv !== undefined && selection.matches(ground.cache.direct.decode(prevKv));
                  const what = now ? (before ? 'MODIFIED' : 'ADDED') : before ? 'DELETED' : '';
                  const event = `${what} ${kv.key.slice(ground.prefix.length)}@${kv.modRevision}`;
                  if (what) truth[at]!.push({ revision: kv.modRevision, event, at });
                }
              if (batch.revision >= last) break;
            }
          }
          for (const [at, { client }] of readers.entries()) {
            const { events } = client;
            expect(events.filter((event) => !event.startsWith('BOOKMARK'))).toEqual(
              truth[at]!.map(({ event }) => event),
            );
            // Nothing at or below a bookmark comes after it, and bookmarks never go back.
            let least = 0;
            for (const event of events) {
              const revision = Number(event.split('@')[1]);
              if (event.startsWith('BOOKMARK')) {
                expect(revision).toBeGreaterThanOrEqual(least);
                least = revision;
              } else expect(revision).toBeGreaterThan(least);
            }
          }
          for (const { watch } of readers) watch.end('client-left');
          expect(ground.cache.watchers.size).toBe(0);
          await ground.cache.close();
        },
      ),
      { numRuns: 60 },
    );
  });
});
