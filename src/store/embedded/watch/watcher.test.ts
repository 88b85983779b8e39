import { beforeEach, describe, expect, it } from 'vitest';
import { boundsOf, isInBounds } from '../../keys.ts';
import type { Key, KeyRange, Revision, WatchBatch, WatchEvent, WatchOptions } from '../../kv.ts';
import { WatchHub } from './watch-hub.ts';
import { Watcher, type WatchSource } from './watcher.ts';

const LIMITS = { events: 3, bytes: 1000 };

/** A store reduced to what a watcher sees of it: a log in memory, and the hub. */
class FakeSource implements WatchSource {
  readonly hub = new WatchHub();
  readonly limits = LIMITS;
  readonly log: WatchEvent[] = [];
  readonly watchers = new Set<Watcher>();
  compactRevision = 0;
  /** How many events of the log one read goes over. */
  stretch = 2;
  reads = 0;
  #revision = 1;

  published = () => this.#revision;
  compacted = () => this.compactRevision;
  pause = () => undefined;
  left = (watcher: Watcher) => void this.watchers.delete(watcher);
  hold = () => {};
  release = () => {};

  readLog = (range: KeyRange, from: Revision) => {
    this.reads++;
    const stretch = this.log.filter(({ kv }) => kv.modRevision >= from).slice(0, this.stretch);
    const bounds = boundsOf(range);
    const events = stretch.filter(({ kv }) => isInBounds(kv.key, bounds));
    return { events, revision: stretch.at(-1)?.kv.modRevision ?? this.#revision };
  };

  /** One commit of several revisions, one key each. */
  publish(...keys: Key[]): void {
    const changes = keys.map((key) => {
      const kv = {
        key,
        value: Buffer.alloc(0),
        createRevision: 1,
        modRevision: ++this.#revision,
        version: 1,
        lease: 0n,
      };
      const event: WatchEvent = { type: 'put', kv, prevKv: undefined };
      this.log.push(event);
      return { event, bytes: 10, readPrevKv: () => undefined };
    });
    this.hub.publish(this.#revision, changes);
  }

  watch(range: KeyRange, options: WatchOptions = {}): Watcher {
    const watcher = new Watcher(range, options, this);
    this.watchers.add(watcher);
    watcher.start();
    return watcher;
  }
}

const ofA: KeyRange = { prefix: 'a' };
const show = ({ revision, events }: WatchBatch) => `${revision}: ${events.map(({ kv }) => kv.key + kv.modRevision)}`;

let source: FakeSource;
beforeEach(() => {
  source = new FakeSource();
});

async function next(watcher: Watcher): Promise<string> {
  const { done, value } = await watcher.next();
  return done ? 'done' : show(value);
}

async function take(watcher: Watcher, count: number): Promise<string[]> {
  const lines: string[] = [];
  while (lines.length < count) lines.push(await next(watcher));
  return lines;
}

/** The names of all events until one with this revision came. */
async function eventsThrough(watcher: Watcher, revision: Revision): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const { value } = (await watcher.next()) as IteratorYieldResult<WatchBatch>;
    seen.push(...value.events.map(({ kv }) => kv.key + kv.modRevision));
    if (value.revision >= revision) return seen;
  }
}

describe('a slow reader', () => {
  it('goes behind when its queue is full, keeps the queue, and gets every event once and in order', async () => {
    const watcher = source.watch(ofA);
    for (let i = 0; i < 20; i++) source.publish('a');
    expect(source.hub.size).toBe(0);
    expect(await eventsThrough(watcher, 21)).toEqual(Array.from({ length: 20 }, (_, i) => `a${i + 2}`));
    expect(source.hub.size).toBe(1);
    source.publish('a');
    expect(await next(watcher)).toBe('22: a22');
  });

  it('reads nothing of the log before it asks', async () => {
    const watcher = source.watch(ofA);
    for (let i = 0; i < 20; i++) source.publish('a');
    await take(watcher, 3);
    expect(source.reads).toBe(0);
    await next(watcher);
    expect(source.reads).toBe(1);
  });

  it('goes behind by weight too', () => {
    source.watch(ofA);
    const heavy = (bytes: number) => {
      const kv = { key: 'a', value: Buffer.alloc(0), createRevision: 1, modRevision: 2, version: 1, lease: 0n };
      source.hub.publish(2, [{ event: { type: 'put', kv, prevKv: undefined }, bytes, readPrevKv: () => undefined }]);
    };
    heavy(LIMITS.bytes + 1); // a batch that is too heavy by itself is still taken by an empty queue
    expect(source.hub.size).toBe(1);
    heavy(1);
    expect(source.hub.size).toBe(0);
  });

  it('that goes on while others write never misses what lies between log and hub', async () => {
    const watcher = source.watch(ofA, { fromRevision: 2 });
    for (let i = 0; i < 7; i++) source.publish('a', 'b');
    const seen: string[] = [];
    for (let reads = 0; seen.length < 12; reads++) {
      const { value } = (await watcher.next()) as IteratorYieldResult<WatchBatch>;
      seen.push(...value.events.map(({ kv }) => kv.key + kv.modRevision));
      if (reads < 5) source.publish('a');
    }
    expect(seen).toEqual(source.log.filter(({ kv }) => kv.key === 'a').map(({ kv }) => kv.key + kv.modRevision));
  });

  it('is told Compacted when its history went, but only after what it had in its queue', async () => {
    const watcher = source.watch(ofA);
    for (let i = 0; i < 10; i++) source.publish('a');
    source.compactRevision = 9;
    expect(await take(watcher, 3)).toEqual(['2: a2', '3: a3', '4: a4']);
    await expect(watcher.next()).rejects.toMatchObject({ code: 'Compacted', compactRevision: 9 });
    expect(await next(watcher)).toBe('done');
    expect(source.watchers.size).toBe(0);
  });
});

describe('a quiet watcher', () => {
  it('that falls behind after old history was compacted is not told Compacted', async () => {
    const watcher = source.watch(ofA);
    source.publish('a');
    for (let i = 0; i < 50; i++) source.publish('b');
    source.compactRevision = 50;
    source.publish('a', 'a', 'a');
    expect(source.hub.size).toBe(0);
    expect(await eventsThrough(watcher, 55)).toEqual(['a2', 'a53', 'a54', 'a55']);
  });

  it('far behind passes over what does not match, stretch by stretch', async () => {
    for (let i = 0; i < 30; i++) source.publish('b');
    source.publish('a');
    const watcher = source.watch(ofA, { fromRevision: 1 });
    expect(await next(watcher)).toBe('32: a32');
    expect(source.reads).toBe(16);
  });
});

describe('progress', () => {
  it('carries the revision of the store when nothing matches', async () => {
    const watcher = source.watch(ofA);
    source.publish('b');
    watcher.requestProgress();
    expect(await next(watcher)).toBe('2: ');
  });

  it('comes after everything it covers, and once for many requests', async () => {
    const watcher = source.watch(ofA);
    source.publish('a');
    source.publish('b');
    watcher.requestProgress();
    source.publish('b');
    watcher.requestProgress();
    watcher.requestProgress();
    source.publish('a');
    expect(await take(watcher, 3)).toEqual(['2: a2', '4: ', '5: a5']);
  });

  it('is left out where a batch says as much', async () => {
    const watcher = source.watch(ofA);
    source.publish('a');
    watcher.requestProgress();
    source.publish('a');
    expect(await take(watcher, 2)).toEqual(['2: a2', '3: a3']);
  });

  it('asked for while behind comes when the present is reached', async () => {
    for (let i = 0; i < 5; i++) source.publish('b');
    const watcher = source.watch(ofA, { fromRevision: 2 });
    watcher.requestProgress();
    expect(await next(watcher)).toBe('6: ');
  });
});

describe('a start in the future', () => {
  it('lets everything before pass, and cuts a batch that reaches over it', async () => {
    const watcher = source.watch(ofA, { fromRevision: 5 });
    expect(await watcher.started()).toBe(4);
    source.publish('a', 'a');
    watcher.requestProgress();
    source.publish('a', 'a', 'a');
    expect(await next(watcher)).toBe('6: a5,a6');
  });
});

describe('reading', () => {
  it('is answered in the order of the calls while live', async () => {
    const watcher = source.watch(ofA);
    const first = next(watcher);
    source.publish('a');
    const second = next(watcher);
    source.publish('a');
    expect(await Promise.all([first, second])).toEqual(['2: a2', '3: a3']);
  });

  it('is answered in the order of the calls while behind', async () => {
    for (let i = 0; i < 4; i++) source.publish('a');
    const watcher = source.watch(ofA, { fromRevision: 2 });
    expect(await Promise.all([next(watcher), next(watcher)])).toEqual(['3: a2,a3', '5: a4,a5']);
  });

  it('ends for all who wait when the reader leaves', async () => {
    const watcher = source.watch(ofA);
    const waiting = [next(watcher), next(watcher)];
    await watcher.return();
    expect(await Promise.all(waiting)).toEqual(['done', 'done']);
    expect([source.hub.size, source.watchers.size]).toEqual([0, 0]);
  });

  it('ends with the reason of the signal, once', async () => {
    const stop = new AbortController();
    const watcher = source.watch(ofA, { signal: stop.signal });
    const waiting = watcher.next();
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(await next(watcher)).toBe('done');
    expect(source.watchers.size).toBe(0);
  });
});
