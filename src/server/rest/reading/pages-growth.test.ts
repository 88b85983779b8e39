import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { backgroundClock } from '../../../api/index.ts';
import { type Op, openEmbeddedStore, type Store } from '../../../store/index.ts';
import { Registry } from '../../registry/registry.ts';
import { defaultWatchCacheLimits } from '../../storage/cacher/watch-cache.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { ResourceStorages } from '../../storage/resource-storages.ts';
import { listOptions } from '../input/list-options.ts';
import { listObjects } from './read.ts';

const PAGE = 4;
const never = new AbortController().signal;
let dataDir: string;
let store: Store;
const opened: ResourceStorages[] = [];
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-pages-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterAll(async () => {
  for (const storages of opened) await storages.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

type Filled = { readonly storage: ResourceStorage; readonly count: number; readonly before: string };

const made = new Map<number, Promise<Filled>>();

/** So many pods, each of which was changed since `before`. */
function filled(count: number): Promise<Filled> {
  const known = made.get(count) ?? fill(count);
  made.set(count, known);
  return known;
}

async function fill(count: number): Promise<Filled> {
  const root = `/of-${count}`;
  const watchCacheLimits = () => ({ ...defaultWatchCacheLimits, maxEvents: 1e6 });
  const options = { registry: new Registry(), store, root, clock: backgroundClock, log: () => {}, watchCacheLimits };
  const storages = new ResourceStorages(options);
  opened.push(storages);
  const storage = storages.storageOf('', 'pods');
  const { codec, keys } = storage.objects;
  const write = async (text: string) => {
    for (let at = 0; at < count; at += 100) {
      const ops = Array.from({ length: Math.min(100, count - at) }, (_, i): Op => {
        const name = `pod-${String(at + i).padStart(6, '0')}`;
        const labels = { half: String((at + i) % 2) };
        const metadata = { name, namespace: 'a', uid: 'u', labels, annotations: { text } };
        const spec = { nodeName: `node-${Math.floor((at + i) / 100)}` };
        return { kind: 'put', key: keys.of('a', name), value: codec.encode({ ...codec.type, metadata, spec }) };
      });
      await store.txn({ then: ops });
    }
  };
  await write('before');
  await listObjects(
    storage.objects,
    listOptions(new URLSearchParams('fieldSelector=spec.nodeName=x'), storage.resource, 'a'),
    never,
  );
  const before = String(await store.revision());
  await write('after');
  return { storage, count, before };
}

/** Everything in pages, one after the other: how many there were. */
async function walk({ storage }: Filled, query: string): Promise<number> {
  let sum = 0;
  let token = '';
  let asked = query;
  do {
    const options = listOptions(
      new URLSearchParams(`${asked}&limit=${PAGE}${token && `&continue=${token}`}`),
      storage.resource,
      'a',
    );
    const { items, meta } = await listObjects(storage.objects, options, never);
    sum += items.length;
    token = encodeURIComponent(meta.continue ?? '');
    asked = query.replace(/&resourceVersion.*/, '');
  } while (token !== '');
  return sum;
}

it.each<[what: string, query: (filled: Filled) => string, share: number]>([
  ['all', () => '', 1],
  ['a label', () => 'labelSelector=half=1', 1 / 2],
  ['all at an older revision', ({ before }) => `&resourceVersion=${before}&resourceVersionMatch=Exact`, 1],
  [
    'a label at an older revision',
    ({ before }) => `labelSelector=half=1&resourceVersion=${before}&resourceVersionMatch=Exact`,
    1 / 2,
  ],
])('pages of %s cost their share, however many there are', async (what, query, share) => {
  await expectLinear(what, {
    make: filled,
    run: async (input) => {
      const there = await input;
      expect(await walk(there, query(there))).toBe(there.count * share);
    },
    from: 1000,
    limit: 4000,
    rounds: 2,
  });
});

it('a page by an indexed field looks at what has its value, and finds all of it', async () => {
  const there = await filled(2000);
  expect(await walk(there, 'fieldSelector=spec.nodeName=node-7')).toBe(100);
  expect(
    await walk(there, `fieldSelector=spec.nodeName=node-7&resourceVersion=${there.before}&resourceVersionMatch=Exact`),
  ).toBe(100);
});
