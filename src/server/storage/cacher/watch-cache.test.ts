import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { factsOf } from '../../registry/kind-facts.ts';
import { Registry } from '../../registry/registry.ts';
import { ObjectCodec } from '../objects/object-codec.ts';
import { ObjectEvent } from '../objects/object-event.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import { defaultWatchCacheLimits, WatchCache, type WatchCacheLimits } from './watch-cache.ts';

const configMaps = new Registry().find('', 'v1', 'configmaps')!;
const codec = new ObjectCodec(configMaps, factsOf(configMaps));

function objectAt(revision: number, name = 'a', dataBytes = 0): StoredObject {
  const metadata = { name, namespace: 'ns', uid: `uid-of-${name}` };
  const data = { x: 'x'.repeat(dataBytes) };
  return codec.decode('ns', name, revision, codec.encode({ ...codec.type, metadata, data }));
}

function put(revision: number, { at = 0, dataBytes = 0 } = {}): ObjectEvent {
  return new ObjectEvent(revision, objectAt(revision, 'a', dataBytes), undefined, at);
}

function windowOf(limits: Partial<WatchCacheLimits>, since = 0): WatchCache {
  return new WatchCache(since, { ...defaultWatchCacheLimits, minEvents: 2, ...limits });
}

const revisionsOf = (events: readonly ObjectEvent[]) => events.map(({ revision }) => revision);

describe('WatchCache', () => {
  it('gives the events above a revision, and whole revisions at a time', () => {
    const window = windowOf({}, 4);
    for (const revision of [5, 7, 7, 7, 9, 12]) window.push(put(revision));
    expect(revisionsOf(window.after(4))).toEqual([5, 7, 7, 7, 9, 12]);
    expect(revisionsOf(window.after(7))).toEqual([9, 12]);
    expect(revisionsOf(window.after(12))).toEqual([]);
    expect(revisionsOf(window.after(99))).toEqual([]);
    expect(revisionsOf(window.after(4, 1))).toEqual([5]);
    expect(revisionsOf(window.after(4, 2))).toEqual([5, 7, 7, 7]);
    expect(revisionsOf(window.after(5, 1))).toEqual([7, 7, 7]);
    expect(revisionsOf(window.after(6, 3))).toEqual([7, 7, 7]);
    expect(revisionsOf(window.after(6, 4))).toEqual([7, 7, 7, 9]);
    expect(window.since).toBe(4);
  });

  it('lets the oldest go past its count, whole revisions at a time, and says from where it is complete', () => {
    const window = windowOf({ maxEvents: 4 });
    for (const revision of [1, 2, 2, 3]) window.push(put(revision));
    expect([window.size, window.since]).toEqual([4, 0]);
    window.push(put(4));
    expect([window.size, window.since]).toEqual([4, 1]);
    window.push(put(5));
    expect([window.size, window.since]).toEqual([3, 2]);
    expect(revisionsOf(window.after(window.since))).toEqual([3, 4, 5]);
  });

  it('lets the oldest go past its bytes, but keeps the newest', () => {
    const window = windowOf({ maxBytes: 10_000 });
    for (const revision of [1, 2, 3, 4]) window.push(put(revision, { dataBytes: 4000 }));
    expect(revisionsOf(window.after(window.since))).toEqual([3, 4]);
    window.push(put(5, { dataBytes: 50_000 }));
    expect([window.since, ...revisionsOf(window.after(4))]).toEqual([4, 5]);
  });

  it('counts what a deletion keeps alive', () => {
    const window = windowOf({ maxBytes: 100_000 });
    for (let revision = 1; revision <= 100; revision++)
      window.push(new ObjectEvent(revision, undefined, objectAt(revision, `o${revision}`, 10_000), 0));
    const held = window.after(window.since).reduce((sum, { previous }) => sum + previous!.bytes.length, 0);
    expect(held).toBeLessThanOrEqual(100_000);
  });

  it('lets go of what is older than fresh when trimmed, down to its least', () => {
    const window = windowOf({ freshMs: 75, minEvents: 3 });
    for (let revision = 1; revision <= 10; revision++) window.push(put(revision, { at: revision * 10 }));
    window.trim(115);
    expect([window.size, window.since]).toEqual([7, 3]);
    window.trim(116);
    expect([window.size, window.since]).toEqual([6, 4]);
    window.trim(1_000_000);
    expect([window.size, window.since]).toEqual([3, 7]);
  });

  it('does not hold on to what it has let go', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const window = windowOf({ maxEvents: 4 });
    const first = pushWeakly(window, 1);
    for (let revision = 2; revision <= 100; revision++) window.push(put(revision));
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    expect(window.since).toBe(96);
    expect(first.deref() === undefined).toBe(true);
  });

  it('grows by doubling, shrinks when a quarter is enough, and counts its growths', () => {
    const window = windowOf({ minEvents: 4, freshMs: 10 });
    const sizes: number[] = [];
    for (let revision = 1; revision <= 20; revision++) {
      window.push(put(revision, { at: revision }));
      sizes.push(window.capacity);
    }
    expect(sizes.filter((size, at) => size !== sizes[at - 1])).toEqual([4, 8, 16, 32]);
    expect(window.growths).toBe(3);
    window.trim(24); // leaves 14 to 20
    expect([window.size, window.capacity]).toEqual([7, 16]);
    window.trim(1000);
    expect([window.size, window.capacity, window.since]).toEqual([4, 8, 16]);
  });

  it('is empty after clear(), complete from there on', () => {
    const window = windowOf({ maxBytes: 5000 });
    window.push(put(1, { dataBytes: 4000 }));
    window.clear(30);
    expect([window.size, window.since, ...window.after(0)]).toEqual([0, 30]);
    window.push(put(31, { dataBytes: 4000 }));
    expect([window.size, window.since]).toEqual([1, 30]);
  });

  it('holds exactly what is above `since`, whatever comes and goes', () => {
    const step = fc.record({ skip: fc.nat(2), dataBytes: fc.nat(600), isTrim: fc.nat(9), wait: fc.nat(40) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 120 }), fc.nat(200), fc.nat(10), (script, asked, limit) => {
        const window = windowOf({ maxEvents: 24, maxBytes: 8000, freshMs: 300, minEvents: 3 });
        const all: ObjectEvent[] = [];
        let [revision, now, since] = [1, 0, 0];
        for (const { skip, dataBytes, isTrim, wait } of script) {
          revision += skip;
          now += wait;
          const event = put(revision, { at: now, dataBytes });
          all.push(event);
          window.push(event);
          if (isTrim === 0) window.trim(now);
          expect(window.since).toBeGreaterThanOrEqual(since);
          since = window.since;
        }
        expect(window.size).toBeLessThanOrEqual(24);
        const from = Math.max(asked, window.since);
        const want = all.filter((event) => event.revision > from);
        expect(window.after(from)).toEqual(want);
        const some = window.after(from, limit + 1);
        expect(some).toEqual(want.slice(0, some.length));
        expect(some.length).toBeGreaterThanOrEqual(Math.min(limit + 1, want.length));
        const next = want[some.length];
        if (next) expect(next.revision).toBeGreaterThan(some[some.length - 1]!.revision);
      }),
      { numRuns: 200 },
    );
  });
});

/** In a frame of its own, so that no local variable keeps the event. */
function pushWeakly(window: WatchCache, revision: number): WeakRef<ObjectEvent> {
  const event = put(revision);
  window.push(event);
  return new WeakRef(event);
}

describe('ObjectEvent', () => {
  it('shows what is gone as it was, under the revision of the change, and makes it once', () => {
    const event = new ObjectEvent(12, undefined, objectAt(7), 0);
    expect(event.gone.parse().metadata.resourceVersion).toBe('12');
    expect(event.gone).toBe(event.gone);
    expect(event.object.revision).toBe(7);
  });
});
