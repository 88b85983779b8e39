import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { breakableWatch, withOther } from '../../../../test/support/store/other-store.ts';
import { backgroundClock, type KubeObject } from '../../../api/index.ts';
import { openEmbeddedStore, type Store, StoreError } from '../../../store/index.ts';
import { Registry } from '../../registry/registry.ts';
import type { Cacher } from '../cacher/cacher.ts';
import { piecesOf } from '../objects/slab.ts';
import { FEED_ROOM } from './feed-messages.ts';
import { type FollowedStorages, openFollowed, ownBytes } from './followed-storages.testing.ts';

const never = new AbortController().signal;
const WAIT_MS = 20_000;
let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-feed-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

let roots = 0;

class Pair implements AsyncDisposable {
  readonly storages: FollowedStorages;
  readonly owner: Cacher;
  readonly worker: Cacher;

  private constructor(storages: FollowedStorages) {
    this.storages = storages;
    this.owner = storages.owner.cachedStorageOf('', 'configmaps')!.objects;
    this.worker = storages.worker.cachedStorageOf('', 'configmaps')!.objects;
  }

  static async open(over: Store = store, isKnown = true): Promise<Pair> {
    const root = `/feed-${roots++}`;
    const options = { registry: new Registry(), store: over, root, clock: backgroundClock, log: () => {} };
    const pair = new Pair(await openFollowed(options, over, isKnown ? undefined : () => async () => undefined));
    await pair.settled();
    return pair;
  }

  async put(name: string, bytes: number): Promise<void> {
    const text = name.repeat(Math.ceil(bytes / name.length));
    const object: KubeObject = {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name, namespace: 'ns', uid: `uid-of-${name}` },
      data: { text },
    };
    const current = await this.worker.direct.get('ns', name);
    if (current) await this.worker.update(current, { ...object, data: { text: `${current.revision} ${text}` } });
    else await this.worker.create(object);
  }

  async remove(name: string): Promise<void> {
    const current = await this.worker.direct.get('ns', name);
    if (current) await this.worker.delete(current);
  }

  /** Both have everything that was written. */
  async settled(): Promise<void> {
    expect(await this.worker.catchUp(WAIT_MS, never)).toBe(true);
  }

  /** Every version of an object that the worker knows: the present, and what is in its window. */
  known() {
    const events = this.worker.watchCache.after(this.worker.watchCache.since);
    return [...this.worker.objects.values(), ...events.flatMap(({ current, previous }) => [current, previous])];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.storages.close();
  }
}

const textOf = ({ objects }: Cacher) => Buffer.concat([...piecesOf(objects.values())]).toString();
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

it('a cache that follows has what the other has, packed as there, and no byte of its own', async () => {
  const step = fc.record({
    first: fc.nat(120),
    count: fc.constantFrom(1, 3, 40),
    bytes: fc.constantFrom(100, 4000, 40_000),
    isDelete: fc.boolean(),
    turns: fc.constantFrom(0, 5, 60),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      await using pair = await Pair.open();
      for (const { first, count, bytes, isDelete, turns: waits } of steps) {
        const names = Array.from({ length: count }, (_, i) => `c${first + i}`);
        await Promise.all(names.map((name) => (isDelete ? pair.remove(name) : pair.put(name, bytes))));
        await turns(waits);
      }
      await pair.settled();
      expect(textOf(pair.worker)).toBe(textOf(pair.owner));
      expect(ownBytes(pair.known())).toBe(0);
      const pieces = ({ objects }: Cacher) => [...piecesOf(objects.values())].length;
      await eventually(() => expect(pieces(pair.worker)).toBeLessThanOrEqual(pieces(pair.owner) + 2));
      expect(pair.worker.objects.bytes).toBe(pair.owner.objects.bytes);
    }),
    { numRuns: 12 },
  );
}, 60_000);

it('a cache whose objects the other does not have in this form reads the store itself', async () => {
  await using pair = await Pair.open(store, false);
  await pair.put('a', 1000);
  await pair.settled();
  expect(textOf(pair.worker)).toContain('"name":"a"');
  expect(ownBytes(pair.known())).toBeGreaterThan(1000);
});

it('a thread that does not take what it is told is told no more, and the state when it does', async () => {
  await using pair = await Pair.open();
  await pair.put('a', 100);
  await pair.settled();
  const release = pair.storages.hold();
  const before = pair.storages.told.length;
  for (let n = 0; n < 30; n++) await pair.put(`b${n % 3}`, 500_000);
  await pair.owner.catchUp(WAIT_MS, never);
  const weight = () => {
    let sum = 0;
    for (const report of pair.storages.told.slice(before)) if (report.kind !== 'ended') sum += report.weight;
    return sum;
  };
  expect(weight()).toBeLessThanOrEqual(FEED_ROOM);
  expect(pair.worker.revision).toBeLessThan(pair.owner.revision);
  release();
  await pair.settled();
  expect(textOf(pair.worker)).toBe(textOf(pair.owner));
  expect(ownBytes(pair.known())).toBe(0);
});

it('a new state of the store reaches the cache that follows, which knows what it has missed', async () => {
  const { watch, breakWatch } = breakableWatch(() => store);
  await using pair = await Pair.open(withOther(store, { watch }));
  for (const name of ['a', 'b', 'c']) await pair.put(name, 100);
  await pair.settled();
  const seen = pair.worker.revision;
  breakWatch(new StoreError('Compacted', 'gone'));
  for (let n = 0; n < 3; n++) await pair.put('b', 200);
  await pair.remove('c');
  await pair.settled();
  await eventually(() => expect(textOf(pair.worker)).toBe(textOf(pair.owner)));
  expect(pair.worker.objects.size).toBe(2);
  expect(pair.owner.isMissed(seen + 1)).toBe(pair.worker.isMissed(seen + 1));
});

it('lets go of the cache when the other thread is gone', async () => {
  const pair = await Pair.open();
  await pair.storages.close();
  expect(pair.storages.ordered.at(-1)?.kind).toBe('leave');
});
