/** What a watch gives: its state, its history, what happens, and bookmarks. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { type Store, StoreError } from '../../../store/index.ts';
import { Selection } from '../objects/selection.ts';
import { StreamClient } from '../stream-client.testing.ts';
import { Ground, labelled, never, startWeakly, store, turns, useStore } from './cache-watcher.testing.ts';

useStore();

describe('CacheWatcher', () => {
  it('keeps nothing of the state it began with', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const ground = new Ground();
    await ground.write(ground.put('a/y'));
    await ground.settled();
    const { watch, initial } = await startWeakly(ground);
    await turns(3);
    collect();
    expect([watch.isLive, initial.deref()]).toEqual([true, undefined]);
  });

  it('gives the state, a bookmark, and then what happens', async () => {
    const ground = new Ground();
    const first = await ground.write(ground.put('b/x'), ground.put('a/y'));
    const after = await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client, { initial: ground.cache.objects.values() });
    await watch.start();
    expect(watch.isLive).toBe(true);
    const live = await ground.write(ground.put('a/y', { text: '2' }), ground.remove('b/x'));
    await ground.settled();
    expect(client.events).toEqual([
      `ADDED a/y@${first}`,
      `ADDED b/x@${first}`,
      `BOOKMARK @${after} end`,
      `MODIFIED a/y@${live}`,
      `DELETED b/x@${live}`,
    ]);
  });

  it('ends quietly for a client that has left before it was made', async () => {
    const ground = new Ground();
    await ground.write(ground.put('a/x'));
    await ground.settled();
    const client = new StreamClient();
    client.end('client-left');
    const watch = ground.watch(client, { initial: ground.cache.objects.values() });
    await watch.start();
    expect([watch.report().state, ground.cache.direct.watches.size, ground.cache.watchers.size]).toEqual([
      'ended',
      0,
      0,
    ]);
  });

  it('sends no bookmark to who has not asked for any', async () => {
    const ground = new Ground();
    await ground.write(ground.put('a/x'));
    await ground.settled();
    const client = new StreamClient();
    await ground.watch(client, { initial: ground.cache.objects.values(), allowsBookmarks: false }).start();
    expect(client.events).toHaveLength(1);
  });

  it('gives what happens while the state is being written after it, once', async () => {
    const ground = new Ground();
    for (let at = 0; at < 40; at++) await ground.write(ground.put(`a/${at}`, { text: 'x'.repeat(20_000) }));
    const after = await ground.settled();
    const client = new StreamClient();
    client.room = 1;
    const watch = ground.watch(client, { initial: ground.cache.objects.values() });
    const started = watch.start();
    await turns(2);
    const changed = await ground.write(ground.put('a/0', { text: 'new' }), ground.remove('a/39'));
    await ground.settled();
    const stop = client.takeAlways();
    await started;
    stop();
    expect(client.events.slice(0, 40).every((event) => event.startsWith('ADDED'))).toBe(true);
    expect(client.events.slice(40)).toEqual([
      `BOOKMARK @${after} end`,
      `MODIFIED a/0@${changed}`,
      `DELETED a/39@${changed}`,
    ]);
  });

  it('gives a slow client everything, once and in order, when it takes again', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client);
    await watch.start();
    client.room = 0;
    const want: string[] = [];
    const write = async (at: number) => want.push(`ADDED a/${at}@${await ground.write(ground.put(`a/${at}`))}`);
    for (let at = 0; at < 20; at++) await write(at);
    await ground.settled();
    expect(watch.isLive).toBe(false);
    expect(ground.cache.watchers.size).toBe(0);
    expect(client.events.length).toBeLessThan(20);
    expect(watch.sendBookmark()).toBe(false);
    client.take(Number.POSITIVE_INFINITY);
    await eventually(() => expect(watch.isLive).toBe(true));
    for (let at = 20; at < 25; at++) await write(at);
    await ground.settled();
    expect(client.events).toEqual(want);
  });

  it('goes on from the log of the store when the window has moved on without it', async () => {
    const ground = new Ground({ maxEvents: 5 });
    await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client, { selection: labelled('color=red') });
    await watch.start();
    client.room = 0;
    const want: string[] = [];
    for (let at = 0; at < 60; at++) {
      const isRed = at % 3 !== 2;
      const revision = await ground.write(ground.put('a/x', { labels: isRed ? { color: 'red' } : {} }));
      want.push(`${at % 3 === 0 ? 'ADDED' : at % 3 === 1 ? 'MODIFIED' : 'DELETED'} a/x@${revision}`);
    }
    await ground.settled();
    const stop = client.takeAlways();
    await eventually(() => expect(watch.isLive).toBe(true));
    stop();
    expect(client.events).toEqual(want);
  });

  it('starts from the window or from the log, as far back as it is asked for', async () => {
    const ground = new Ground({ maxEvents: 10 });
    const start = await ground.settled();
    const all: { revision: number; event: string }[] = [];
    for (let at = 0; at < 30; at++) {
      const revision = await ground.write(ground.put(`a/${at % 4}`, { text: String(at) }));
      all.push({ revision, event: `${at < 4 ? 'ADDED' : 'MODIFIED'} a/${at % 4}@${revision}` });
    }
    await ground.settled();
    for (const after of [start, start + 7, start + 19, start + 20, start + 25, start + 30]) {
      const client = new StreamClient();
      await ground.watch(client, { after }).start();
      const want = all.filter(({ revision }) => revision > after).map(({ event }) => event);
      expect(client.events).toEqual(want);
    }
  });

  it('ends with an error when its history is compacted', async () => {
    const ground = new Ground({ maxEvents: 2 });
    const start = await ground.settled();
    for (let at = 0; at < 10; at++) await ground.write(ground.put('a/x', { text: String(at) }));
    const last = await ground.settled();
    await store.compact(last);
    const client = new StreamClient();
    const ended = vi.fn();
    const watch = ground.watch(client, { after: start });
    watch.onEnd(ended);
    await watch.start();
    expect(client.events).toEqual([expect.stringMatching(/^ERROR too old resource version: \d+ \(\d+\)$/)]);
    expect([client.ends, ended.mock.calls.length, ground.cache.counts.stale]).toEqual([1, 1, 1]);
    expect(ground.cache.watchers.size).toBe(0);
  });

  it('tells of every change, also of the first that compaction has left', async () => {
    const ground = new Ground({ maxEvents: 1 });
    await ground.write(ground.put('a/gone'), ground.put('a/left', { labels: { color: 'red' } }));
    await ground.settled();
    const change = await ground.write(ground.remove('a/gone'), ground.put('a/left'));
    for (let at = 0; at < 3; at++)
      await ground.write(ground.put('a/z', { labels: { color: 'red' }, text: String(at) }));
    await ground.settled();
    await store.compact(change, { physical: true });
    for (const selection of [new Selection({}), labelled('color=red')]) {
      const client = new StreamClient();
      await ground.watch(client, { after: change - 1, selection }).start();
      // What cannot be told must not be passed over: either the change or the end.
      if (!client.events[0]?.startsWith('ERROR'))
        expect(client.events.slice(0, 2)).toEqual(
          selection.isSelective
            ? [`DELETED a/left@${change}`, `ADDED a/z@${change + 1}`]
            : [`DELETED a/gone@${change}`, `MODIFIED a/left@${change}`],
        );
    }
  });

  it('loses nothing that was missed while the cache had to be read anew', async () => {
    let breakWatch: (error: Error) => void = () => {};
    let gate: Promise<void> | undefined;
    const fragile = new Proxy(store, {
      get: (target, name) => {
        if (name === 'range')
          return async (...args: Parameters<Store['range']>) => {
            await gate;
            return target.range(...args);
          };
        const own = target[name as keyof Store];
        if (name !== 'watch') return typeof own === 'function' ? (own as () => unknown).bind(target) : own;
        return (...args: Parameters<Store['watch']>) => {
          const watch = target.watch(...args);
          if (args[1]?.prevKv) return watch; // not the cache's own
          const next = watch.next.bind(watch);
          const broken = new Promise<never>((_resolve, reject) => {
            breakWatch = reject;
          });
          broken.catch(() => {});
          watch.next = () => Promise.race([next(), broken]);
          return watch;
        };
      },
    });
    const ground = new Ground({}, fragile);
    await ground.write(ground.put('a/x'));
    await ground.settled();
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    breakWatch(new StoreError('Compacted', 'Cannot watch: history is compacted'));
    // What came and went, and what was selected for a while: the difference in the end shows neither.
    const seen = await ground.write(ground.put('a/brief'), ground.put('a/x', { labels: { color: 'red' } }));
    const gone = await ground.write(ground.remove('a/brief'), ground.put('a/x', { text: 'plain again' }));
    await ground.write(ground.put('a/z'));
    open();
    await ground.settled();
    const all = new StreamClient();
    await ground.watch(all, { after: seen }).start();
    expect(all.events).toEqual([`DELETED a/brief@${gone}`, `MODIFIED a/x@${gone}`, `ADDED a/z@${gone + 1}`]);
    const red = new StreamClient();
    await ground.watch(red, { after: seen, selection: labelled('color=red') }).start();
    expect(red.events).toEqual([`DELETED a/x@${gone}`]);
  });

  it('gives only what is above a start in the future', async () => {
    const ground = new Ground();
    const now = await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client, { after: now + 3 });
    await watch.start();
    for (let at = 1; at <= 2; at++) await ground.write(ground.put(`a/${at}`));
    await ground.settled();
    expect(watch.sendBookmark()).toBe(false);
    await ground.write(ground.put('a/3'));
    await ground.settled();
    const later = await ground.write(ground.put('a/4'));
    await ground.settled();
    await ground.write(ground.put('a/5'));
    await ground.settled();
    await eventually(() => expect(client.events).toEqual([`ADDED a/4@${later}`, `ADDED a/5@${later + 1}`]));
  });

  it('gives only the later part of a batch in the middle of which it starts', async () => {
    const ground = new Ground();
    const now = await ground.settled();
    const client = new StreamClient();
    await ground.watch(client, { after: now + 3 }).start();
    await Promise.all(['1', '2', '3', '4', '5'].map((name) => ground.write(ground.put(`a/${name}`))));
    await ground.settled();
    await eventually(() => expect(client.events).toEqual([`ADDED a/4@${now + 4}`, `ADDED a/5@${now + 5}`]));
  });

  it('sends a bookmark when it is live, also when there is nothing new to say', async () => {
    const ground = new Ground();
    await ground.settled();
    const client = new StreamClient();
    const watch = ground.watch(client);
    expect(watch.sendBookmark()).toBe(false);
    await watch.start();
    expect(watch.sendBookmark()).toBe(true);
    await store.txn({ then: [{ kind: 'put', key: '/elsewhere', value: Buffer.from('1') }] });
    const revision = await ground.settled();
    expect(watch.sendBookmark()).toBe(true);
    expect(client.events).toEqual([`BOOKMARK @${revision - 1}`, `BOOKMARK @${revision}`]);
    watch.end('client-left');
    expect(watch.sendBookmark()).toBe(false);
  });

  describe('that begins before the cache was filled', () => {
    /** A cache that was filled some revisions after the last change of its resource. */
    async function quietGround(
      tellsProgress = true,
    ): Promise<{ ground: Ground; before: number; opened: () => number }> {
      let open = 0;
      const counting = new Proxy(store, {
        get: (target, name) => {
          const own = target[name as keyof Store];
          if (typeof own !== 'function') return own;
          if (name !== 'watch') return (own as () => unknown).bind(target);
          return (...args: Parameters<Store['watch']>) => {
            const watch = target.watch(...args);
            const end = watch.return.bind(watch);
            if (!tellsProgress) watch.requestProgress = () => {};
            let isOpen = true;
            open++;
            watch.return = () => {
              if (isOpen) open--;
              isOpen = false;
              return end();
            };
            return watch;
          };
        },
      });
      const { revision: before } = await store.range({ key: '/x' });
      for (let at = 0; at < 3; at++)
        await store.txn({ then: [{ kind: 'put', key: '/elsewhere', value: Buffer.from('1') }] });
      const ground = new Ground({}, counting);
      await ground.cache.waitFor(before + 3, 3000, never);
      return { ground, before, opened: () => open - 1 }; // one is the cache's own
    }

    it('is live although nothing happens, so that it is sent bookmarks', async () => {
      const { ground, before } = await quietGround();
      const client = new StreamClient();
      const watch = ground.watch(client, { after: before });
      const started = watch.start();
      await turns(20);
      expect(watch.isLive).toBe(true);
      expect(watch.sendBookmark()).toBe(true);
      watch.end('client-left');
      await started;
    });

    it('leaves no watch of the store behind when the client leaves a store that says nothing', async () => {
      const { ground, before, opened } = await quietGround(false);
      const client = new StreamClient();
      const watch = ground.watch(client, { after: before });
      void watch.start();
      await turns(5);
      client.leave();
      await turns(5);
      expect(opened()).toBe(0);
    });
  });
});
