import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { backgroundClock, type KubeObject } from '../../../api/index.ts';
import { openEmbeddedStore, type Store } from '../../../store/index.ts';
import { CreateRight } from '../../auth/create-right.ts';
import { Registry } from '../../registry/registry.ts';
import { defaultWatchCacheLimits } from '../../storage/cacher/watch-cache.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { ResourceStorages } from '../../storage/resource-storages.ts';
import { listOptions } from '../input/list-options.ts';
import { type ListedObjects, listObjects, peekObjects } from './read.ts';

let dataDir: string;
let store: Store;
let storages: ResourceStorages;
const never = new AbortController().signal;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'longwatch-read-'));
  store = await openEmbeddedStore({ dataDir, durability: 'none' });
});
afterEach(async () => {
  await storages.close();
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(isKept: boolean, maxEvents = 1000): ResourceStorages {
  const watchCacheLimits = () => (isKept ? { ...defaultWatchCacheLimits, minEvents: 1, maxEvents } : ('off' as const));
  const options = { registry: new Registry(), store, root: '/registry', clock: backgroundClock, log: () => {} };
  storages = new ResourceStorages({ ...options, watchCacheLimits });
  return storages;
}

function configMap(key: string, text = '', labels: Record<string, string> = {}): KubeObject {
  const [namespace = '', name = ''] = key.split('/');
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, namespace, uid: 'u', labels }, data: { text } };
}

async function change(storage: ResourceStorage, key: string, text: string): Promise<number> {
  const [namespace = '', name = ''] = key.split('/');
  const current = await storage.read(namespace, name);
  const outcome = await storage.update(current!, configMap(key, text));
  return 'stored' in outcome ? outcome.stored.revision : 0;
}

async function remove(storage: ResourceStorage, key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/');
  await storage.delete((await storage.read(namespace, name))!);
}

const optionsOf = (storage: ResourceStorage, query: string, namespace = '') =>
  listOptions(new URLSearchParams(query), storage.resource, namespace);
const peek = (storage: ResourceStorage, query: string, namespace = '') =>
  peekObjects(storage.objects, optionsOf(storage, query, namespace));
/** What is found at once is what is found by waiting; nothing is, where waiting ends in a refusal. */
async function list(storage: ResourceStorage, query: string, namespace = ''): Promise<ListedObjects> {
  const options = optionsOf(storage, query, namespace);
  const refused = (err: unknown) => err;
  const peeked = await new Promise((resolve) => resolve(peekObjects(storage.objects, options))).catch(refused);
  const listed = await listObjects(storage.objects, options, never).catch((err: unknown) => {
    if (peeked) expect(peeked).toEqual(err);
    throw err;
  });
  if (peeked) expect(peeked).toEqual(listed);
  return listed;
}
const keysOf = ({ items }: ListedObjects) => items.map(({ key }) => key);

describe.each([
  ['with a cache', true, 1000],
  ['with a cache that forgets soon', true, 1],
  ['without a cache', false, 0],
])('listObjects() %s', (_claim, isKept, maxEvents) => {
  async function filled(): Promise<ResourceStorage> {
    const storage = open(isKept, maxEvents).storageOf('', 'configmaps');
    for (const key of ['b/1', 'a/2', 'a/1', 'a-b/1', 'a/3', 'c/1'])
      await storage.create(configMap(key), CreateRight.ofServer);
    return storage;
  }

  it('has everything that was acknowledged, in order of keys', async () => {
    const storage = await filled();
    const all = await list(storage, '');
    expect(keysOf(all)).toEqual(['a-b/1', 'a/1', 'a/2', 'a/3', 'b/1', 'c/1']);
    expect(all.meta).toEqual({ resourceVersion: String(await store.revision()) });
    expect(keysOf(await list(storage, '', 'a'))).toEqual(['a/1', 'a/2', 'a/3']);
    expect(keysOf(await list(storage, '', 'none'))).toEqual([]);
    expect(keysOf(await list(storage, 'fieldSelector=metadata.name%3D1'))).toEqual(['a-b/1', 'a/1', 'b/1', 'c/1']);
    expect(keysOf(await list(storage, 'fieldSelector=metadata.namespace%3Da'))).toEqual(['a/1', 'a/2', 'a/3']);
  });

  it('gives pages of one snapshot, whatever happens in between', async () => {
    const storage = await filled();
    const before = keysOf(await list(storage, ''));
    const first = await list(storage, 'limit=2');
    expect(first.meta.remainingItemCount).toBe(4);
    const seen = keysOf(first);
    let token = first.meta.continue;
    for (let page = 0; token; page++) {
      await storage.create(configMap(`a/new-${page}`), CreateRight.ofServer);
      if (page === 0) await remove(storage, 'b/1');
      await change(storage, 'c/1', `changed ${page}`);
      const next = await list(storage, `limit=2&continue=${token}`);
      expect(next.meta.resourceVersion).toBe(first.meta.resourceVersion);
      for (const item of next.items) expect(item.revision).toBeLessThanOrEqual(Number(first.meta.resourceVersion));
      seen.push(...keysOf(next));
      token = next.meta.continue;
    }
    expect(seen).toEqual(before);
  });

  it('gives pages of a selection without counting what is left', async () => {
    const storage = await filled();
    await storage.create(configMap('a/red', '', { color: 'red' }), CreateRight.ofServer);
    await storage.create(configMap('b/red', '', { color: 'red' }), CreateRight.ofServer);
    await storage.create(configMap('c/red', '', { color: 'red' }), CreateRight.ofServer);
    const first = await list(storage, 'limit=2&labelSelector=color%3Dred');
    expect([keysOf(first), first.meta.remainingItemCount]).toEqual([['a/red', 'b/red'], undefined]);
    const second = await list(storage, `limit=2&labelSelector=color%3Dred&continue=${first.meta.continue}`);
    expect([keysOf(second), second.meta.continue]).toEqual([['c/red'], undefined]);
  });

  it('says 410 when the snapshot of a token is compacted, with a token that goes on in the present', async () => {
    const storage = await filled();
    const first = await list(storage, 'limit=2');
    const last = await change(storage, 'a/3', 'new');
    await store.compact(last);
    const refused = (await list(storage, `limit=2&continue=${first.meta.continue}`).catch((err: unknown) => err)) as {
      code: number;
      status: { metadata: { continue: string } };
    };
    expect(refused.code).toBe(410);
    const rest = await list(storage, `continue=${refused.status.metadata.continue}`);
    expect([keysOf(rest), rest.meta.resourceVersion]).toEqual([['a/2', 'a/3', 'b/1', 'c/1'], String(last)]);
    await expect(
      list(storage, `resourceVersion=${Number(first.meta.resourceVersion)}&resourceVersionMatch=Exact`),
    ).rejects.toThrow('The resourceVersion for the provided list is too old.');
  });

  it('reads at, or not before, the revision that was asked for', async () => {
    const storage = await filled();
    const old = await change(storage, 'a/1', 'old');
    const now = await change(storage, 'a/1', 'new');
    await list(storage, '');
    const textAt = async (query: string) => {
      const { items, meta } = await list(storage, query, 'a');
      return [meta.resourceVersion, (items[0]!.parse().data as { text: string }).text, items.length];
    };
    expect(await textAt(`resourceVersion=${old}&resourceVersionMatch=Exact`)).toEqual([String(old), 'old', 3]);
    expect(await textAt(`resourceVersion=${old}&limit=1`)).toEqual([String(old), 'old', 1]);
    expect(await textAt(`resourceVersion=${old}&limit=1&resourceVersionMatch=NotOlderThan`)).toEqual([
      String(now),
      'new',
      1,
    ]);
    expect(await textAt(`resourceVersion=${old}`)).toEqual([String(now), 'new', 3]);
    expect(await textAt('resourceVersion=0&limit=1')).toEqual([String(now), 'new', 3]);
  });

  it('refuses a version beside a token', async () => {
    const storage = await filled();
    const { meta } = await list(storage, 'limit=2');
    await expect(list(storage, `continue=${meta.continue}&resourceVersion=5`)).rejects.toThrow(
      'specifying resource version is not allowed when using continue',
    );
    expect(keysOf(await list(storage, `limit=1&continue=${meta.continue}&resourceVersion=0`))).toHaveLength(4);
  });
});

describe('a resource that is stored in the form of another', () => {
  it('is selected by the fields it shows', async () => {
    const storage = open(true).storageOf('events.k8s.io', 'events');
    const of = (name: string): KubeObject => ({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name, namespace: 'ns', uid: 'u' },
      regarding: { kind: 'Pod', name },
      reportingController: `controller-of-${name}`,
      reason: 'Because',
      type: 'Normal',
    });
    for (const name of ['a', 'b']) await storage.create(of(name), CreateRight.ofServer);
    expect(keysOf(await list(storage, 'fieldSelector=regarding.name%3Da'))).toEqual(['ns/a']);
    expect(keysOf(await list(storage, 'fieldSelector=reportingController%3Dcontroller-of-b'))).toEqual(['ns/b']);
    expect(keysOf(await list(storage, 'fieldSelector=reason%3DBecause'))).toEqual(['ns/a', 'ns/b']);
  });
});

it('peekObjects() has at once what the cache has, whole, in pages and by an index, and nothing that must be looked for', async () => {
  const storage = open(true).storageOf('', 'pods');
  const pod = (name: string, nodeName: string, app: string): KubeObject => {
    const metadata = { name, namespace: 'a', uid: 'u', labels: { app } };
    return { kind: 'Pod', apiVersion: 'v1', metadata, spec: { nodeName } } as KubeObject;
  };
  for (let i = 0; i < 20; i++)
    await storage.create(pod(`p-${i + 10}`, `node-${i % 10}`, `app-${i % 10}`), CreateRight.ofServer);
  const byLabel = 'labelSelector=app%3Dapp-4';
  expect(keysOf(await list(storage, byLabel, 'a'))).toEqual(['a/p-14', 'a/p-24']);
  await eventually(() => expect(peek(storage, byLabel)).toBeDefined());
  const byNode = 'fieldSelector=spec.nodeName%3Dnode-3';
  expect(keysOf(await list(storage, byNode, 'a'))).toEqual(['a/p-13', 'a/p-23']);
  await eventually(() => expect(peek(storage, byNode)).toBeDefined()); // the index is made beside the work of others
  for (const query of [
    '',
    'limit=3',
    'resourceVersion=0',
    byNode,
    `${byNode}&limit=1`,
    byLabel,
    `${byLabel}&limit=1`,
  ]) {
    expect(peek(storage, query, 'a')).toBeDefined();
    await list(storage, query, 'a');
  }
  const { meta, items } = await list(storage, 'limit=3', 'a');
  const { resourceVersion } = meta;
  const next = `limit=3&continue=${meta.continue}`;
  const others = [
    'labelSelector=a!%3Db',
    `${byNode}&labelSelector=a`,
    `${byLabel},a`,
    `${byLabel}&fieldSelector=status.phase!%3DRunning`,
    'resourceVersion=9999',
  ];
  const { counts } = storages.cachedStorageOf('', 'pods')!.objects;
  const before = counts.lists;
  for (const query of others) expect(peek(storage, query, 'a')).toBeUndefined();
  expect(counts.lists).toBe(before); // each of them is counted when it is listed

  await storage.create(pod('p-135', 'node-1', 'app-1'), CreateRight.ofServer); // after the page was read
  await list(storage, '', 'a'); // which waits until the cache has it
  const followed = peek(storage, next, 'a');
  expect(followed).toEqual(await list(storage, next, 'a'));
  expect(keysOf(followed!)).toEqual(['a/p-13', 'a/p-14', 'a/p-15']);
  const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
  expect(peek(storage, `${exact}&limit=3`, 'a')?.items).toEqual(items);
  expect(peek(storage, `${exact}&${byLabel}`, 'a')).toBeUndefined();
});

describe('listObjects() with selectors', () => {
  it('lets others have their turn, and ends when whoever asked has gone', async () => {
    const storage = open(true).storageOf('', 'configmaps');
    for (let i = 0; i < 20; i++) await storage.create(configMap(`a/${i}`, 'x', { a: 'b' }), CreateRight.ofServer);
    const options = listOptions(new URLSearchParams('labelSelector=a!%3Dc'), storage.resource, '');
    const { selection } = options;
    const judge = selection.matches.bind(selection);
    let judged = 0;
    // Each object takes longer than a turn may, as a large one does that has to be parsed.
    selection.matches = (object) => {
      judged++;
      for (const until = performance.now() + 20; performance.now() < until; );
      return judge(object);
    };
    const gone = new AbortController();
    setImmediate(() => setImmediate(() => setImmediate(() => gone.abort(new Error('gone')))));
    await expect(listObjects(storage.objects, options, gone.signal)).rejects.toThrow('gone');
    expect(judged).toBeLessThan(20);
  });
});

describe.each([
  ['with a cache', true],
  ['without a cache', false],
])('a version written with zeros in front, %s', (_claim, isKept) => {
  it('is what it is without them', async () => {
    const storage = open(isKept).storageOf('', 'configmaps');
    for (const key of ['a/1', 'a/2', 'a/3']) await storage.create(configMap(key), CreateRight.ofServer);
    const now = String(await store.revision());
    for (const query of ['', '&limit=2', '&resourceVersionMatch=NotOlderThan', '&resourceVersionMatch=Exact']) {
      const [plain, padded] = [
        await list(storage, `resourceVersion=${now}${query}`),
        await list(storage, `resourceVersion=00${now}${query}`),
      ];
      expect([keysOf(padded), padded.meta]).toEqual([keysOf(plain), plain.meta]);
    }
    const zero = await list(storage, 'resourceVersion=00');
    expect([keysOf(zero), zero.meta]).toEqual([['a/1', 'a/2', 'a/3'], { resourceVersion: now }]);
    // Only a single zero stands for whatever there is; a page of any other is one of the newest state.
    const page = await list(storage, 'resourceVersion=00&limit=2');
    expect([keysOf(page), page.meta.resourceVersion, page.meta.continue]).toEqual([
      ['a/1', 'a/2'],
      now,
      expect.any(String),
    ]);
    expect(keysOf(await list(storage, 'resourceVersion=00&resourceVersionMatch=Exact'))).toHaveLength(3);
  });
});
