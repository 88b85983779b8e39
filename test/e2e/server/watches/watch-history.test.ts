/** A watch tells every change, once, in order: while many write, and however often it is broken off and taken up. */
import { expect, it } from 'vitest';
import type { ApiClient, StreamEvent } from '../../../../src/testing/index.ts';
import { randomFrom } from '../../../support/random.ts';
import { onEveryGround, told, truth } from '../../../support/server/grounds.ts';
import { CONFIG_MAPS, writeALot, writeLast } from '../../../support/server/writers.ts';

onEveryGround((ground) => {
  const writes = ground.name === 'embedded' ? 10_000 : 3_000;

  it(`${writes} concurrent writes reach every watcher as they happened, broken off at random`, async () => {
    await using server = await ground.open();
    const { client } = server;
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const watchers = Array.from({ length: 6 }, (_, i) => {
      const reader = server.connect({ protocol: i % 2 === 0 ? 'http1' : 'http2' });
      return follow(reader, start, randomFrom(1000 + i), i === 0 ? Number.POSITIVE_INFINITY : 40 * 4 ** (i % 4));
    });
    const elsewhere = '/api/v1/namespaces/kube-public/configmaps'; // what is not to be seen
    const noise = writeALot({ client, writes: writes / 10, seed: 500, path: elsewhere });
    const answered = await writeALot({ client: server.connect({ protocol: 'http2' }), writes, seed: 1 });
    await noise;
    await writeLast(client);
    const seen = await Promise.all(watchers);
    const everything = await truth(ground, server, 'configmaps', start);
    const happened = everything.filter((line) => line.includes(' default/'));
    expect(everything.length).toBeGreaterThan(happened.length);
    expect(happened.length).toBeGreaterThan(writes / 3);
    for (const events of seen) expect(events).toEqual(happened);
    const versions = new Set(happened.map((line) => line.split(' ')[2]));
    expect(answered.filter((version) => !versions.has(version))).toEqual([]);
  }, 120_000);

  it('a bookmark is the truth: taken up from any of them, a watch loses nothing and repeats nothing', async () => {
    await using server = await ground.open();
    const { client } = server;
    const start = (await client.list(CONFIG_MAPS)).metadata.resourceVersion;
    const stop = new AbortController();
    const watchers = Array.from({ length: 30 }, () =>
      followBookmarks(server.connect({ protocol: 'http2' }), start, stop.signal),
    );
    const writer = server.connect({ protocol: 'http2' });
    let bookmarks = 0;
    for (let round = 0; bookmarks < 60; round++) {
      await writeALot({ client: writer, writes: 300, seed: 100 * round });
      bookmarks = watchers.reduce((sum, { count }) => sum + count.bookmarks, 0);
    }
    stop.abort();
    await writeLast(client);
    const seen = await Promise.all(watchers.map(({ events }) => events));
    const happened = await truth(ground, server, 'configmaps', start);
    for (const events of seen) expect(events).toEqual(happened);
  }, 120_000);

  it('initial events, their bookmark and what follows are exactly the final state, while many write', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await writeALot({ client, writes: 400, seed: 7 });
    const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true };
    const states: Promise<Record<string, string>>[] = [];
    for (let round = 0; round < 20; round++) {
      const watch = client.watch(CONFIG_MAPS, query); // opens while the next writes are under way
      states.push(watch.then(async (opened) => stateFrom(await opened.until(isLast))));
      await writeALot({ client, writes: 75, seed: 100 + round });
    }
    await writeLast(client);
    const { items } = await client.list(CONFIG_MAPS);
    const want = Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    for (const state of await Promise.all(states)) expect(state).toEqual(want);
  }, 60_000);
});

const isLast = ({ object }: StreamEvent) => object.metadata.name === 'the-last';

/** Reads some events, breaks off, goes on after the last of them; until the last object is seen. */
async function follow(client: ApiClient, start: string, random: () => number, most: number): Promise<string[]> {
  const events: string[] = [];
  for (let version = start; ; ) {
    await using watch = await client.watch(CONFIG_MAPS, { resourceVersion: version });
    for (let left = 1 + random() * most; left > 0; left--) {
      const [event] = await watch.take(1);
      events.push(told(event!));
      version = event!.object.metadata.resourceVersion!;
      if (isLast(event!)) return events;
    }
  }
}

/** Short watches, each taken up from the last bookmark of the one before. */
function followBookmarks(client: ApiClient, start: string, stop: AbortSignal) {
  const count = { bookmarks: 0 };
  const run = async () => {
    const events: string[] = [];
    for (let version = start; ; ) {
      const query = { resourceVersion: version, allowWatchBookmarks: true, timeoutSeconds: stop.aborted ? 60 : 3 };
      await using watch = await client.watch(CONFIG_MAPS, query);
      for (;;) {
        const event = await watch.next();
        // The end without a bookmark cannot be told from a cut: what came since the last one came in vain.
        if (!event) {
          const bookmark = Number(version);
          while (events.length > 0 && Number(events[events.length - 1]!.split(' ')[2]) > bookmark) events.pop();
          break;
        }
        if (event.type === 'BOOKMARK') {
          count.bookmarks++;
          version = event.object.metadata.resourceVersion!;
          break;
        }
        events.push(told(event));
        if (isLast(event)) return events;
      }
    }
  };
  return { count, events: run() };
}

/** Name and version of everything that is there in the end; checks the order on the way. */
function stateFrom(events: readonly StreamEvent[]): Record<string, string> {
  const state: Record<string, string> = {};
  const end = events.findIndex(({ type }) => type === 'BOOKMARK');
  const bookmark = Number(events[end]!.object.metadata.resourceVersion);
  let version = 0;
  for (const [i, { type, object }] of events.entries()) {
    const { name, resourceVersion } = object.metadata;
    if (type === 'BOOKMARK') continue;
    if (i < end) {
      expect(type).toBe('ADDED');
      expect(state[name!]).toBeUndefined();
      expect(Number(resourceVersion)).toBeLessThanOrEqual(bookmark);
    } else {
      expect(Number(resourceVersion)).toBeGreaterThan(Math.max(bookmark, version));
      expect(type === 'ADDED').toBe(state[name!] === undefined);
      version = Number(resourceVersion);
    }
    if (type === 'DELETED') delete state[name!];
    else state[name!] = resourceVersion!;
  }
  return state;
}
