/** Checkpoints on a real server: what a process that starts again begins with, and what it is told. */
import { appendFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer, type RequestSample } from '../../../src/client/advanced.ts';
import {
  type InformerOptions,
  type KubeClient,
  mergePatch,
  metadataOf,
  versionCheckpoint,
} from '../../../src/client/index.ts';
import { type ConfigMap, configMaps, namespaces, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { Believer, versionsOf } from '../../support/client/believer.ts';
import { savedIn, untilSaved } from '../../support/client/checkpoint-under-test.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';
import { expectSame } from '../../support/client/informer-under-test.ts';
import { writeALot, writeLast } from '../../support/server/writers.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const reflector = { backoff: { minMs: 1, maxMs: 20 } };

/** An informer with a handler that writes down what it is told. */
function start(client: KubeClient, file: string, options: Partial<InformerOptions<ConfigMap>> = {}) {
  const checkpoint = { file, flushMs: 5 };
  const informer = new Informer(client, configMaps, { allNamespaces: true, reflector, checkpoint, ...options });
  const handler = new Believer<ConfigMap>();
  const subscription = informer.subscribe(handler.take, { limit: 1e6 });
  return { informer, handler, subscription };
}

it('after a restart the store is there at once, no list is made, and handlers are told what changed meanwhile', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  const samples: RequestSample[] = [];
  await using client = await adminOf(server, { onRequest: (sample) => void samples.push(sample) });
  const maps = client.resource(configMaps);
  for (const name of ['changed', 'gone', 'replaced', 'same']) await maps.create({ metadata: { name } });
  const first = start(client, file);
  await first.subscription.synced();
  const before = versionsOf(first.informer.list());
  await first.informer[Symbol.asyncDispose]();
  expect(versionsOf((await savedIn(file))!.objects.values())).toEqual(before);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(dir.path)).sort()).toEqual(['maps']); // no lock, no draft

  for (const v of ['1', '2']) await maps.patch('changed', mergePatch({ data: { v } }));
  await maps.delete('gone');
  await maps.delete('replaced');
  await maps.create({ metadata: { name: 'replaced' } });
  const { metadata } = await maps.create({ metadata: { name: 'fresh' } });
  samples.length = 0;

  const { informer, handler, subscription } = start(client, file);
  await informer.synced();
  expect(versionsOf(informer.list())).toEqual(before);
  expect(informer.freshness).toMatchObject({ state: 'interrupted', error: undefined });
  expect(informer.freshness.lagMs).toBeGreaterThanOrEqual(0);
  await informer.reached(metadata.resourceVersion);
  await subscription.idle();
  expect(informer.freshness.state).toBe('current');
  const initial = handler.told.filter((event) => event.type === 'added' && event.isInitial);
  expect(versionsOf(initial.map(({ object }) => object))).toEqual(before);
  expect(handler.since(initial.length)).toEqual([
    'updated default/changed',
    'updated default/changed',
    'deleted default/gone',
    'deleted default/replaced',
    'added default/replaced',
    'added default/fresh',
  ]);
  expect(handler.complaints).toEqual([]);
  expect(informer.metrics).toMatchObject({ lists: 0, streams: 1, checkpoint: { restored: initial.length } });
  expect(samples.filter(({ path, isStream }) => path.endsWith('/configmaps') && !isStream)).toEqual([]);
  await expectSame(informer, server.client, client);
  await informer[Symbol.asyncDispose]();
});

it('again and again, with writers at work, nothing is lost and nothing listed', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  let lists = 0;
  for (let round = 0; round < 5; round++) {
    const { informer, handler, subscription } = start(client, file);
    const writing = writeALot({ client: server.client, writes: 150, seed: round });
    await informer.synced();
    if (round % 2 === 0) await writing; // at other times it is closed in the middle of it
    if (round % 2 === 0) {
      await expectSame(informer, server.client, client);
      await subscription.idle();
      handler.expectSame(informer);
    }
    lists += informer.metrics.lists;
    await informer[Symbol.asyncDispose]();
    await writing;
  }
  expect(lists).toBe(1);
});

it('saved() resolves when what the store has is in the file, and handlers are through with it', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const { informer, handler, subscription } = start(client, file);
  await informer.saved(); // with the first state
  expect(versionsOf((await savedIn(file))!.objects.values())).toEqual(versionsOf(informer.list()));
  let release = () => {};
  const isFree = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using _slow = informer.subscribe(({ key }) => (key === 'default/a' ? isFree : undefined));
  const { metadata } = await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await informer.reached(metadata.resourceVersion);
  const saving = informer.saved();
  const stop = new AbortController();
  const given = expect(informer.saved(stop.signal)).rejects.toThrow('enough');
  stop.abort(new Error('enough'));
  await given;
  expect((await savedIn(file))!.objects.has('default/a')).toBe(false);
  release();
  await saving;
  await subscription.idle();
  expect((await savedIn(file))!.objects.get('default/a')?.metadata).toMatchObject({ uid: metadata.uid });
  expect(handler.complaints).toEqual([]);
  await informer[Symbol.asyncDispose]();
  await expect(informer.saved()).rejects.toThrow('Cannot save to checkpoint');
  await using plain = new Informer(client, configMaps);
  await expect(plain.saved()).rejects.toThrow('Cannot save the store of configmaps: it has no checkpoint');
});

it('a checkpoint of one shard is not that of another, nor of all', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const shardSelector = "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')";
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push((error as Error).message);
  const first = start(client, file, { shardSelector });
  await first.informer.saved();
  await first.informer[Symbol.asyncDispose]();
  const again = start(client, file, { shardSelector, onError });
  await again.informer.synced();
  expect([errors, again.informer.metrics.lists]).toEqual([[], 0]);
  await again.informer[Symbol.asyncDispose]();
  const whole = start(client, file, { onError });
  await whole.informer.synced();
  expect(errors).toEqual([
    expect.stringContaining(`its shardSelector is ${JSON.stringify(shardSelector)}, and not ""`),
  ]);
  await whole.informer[Symbol.asyncDispose]();
});

it('namespaces have versions of their own', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  for (const name of ['m', 'n']) await client.resource(namespaces).create({ metadata: { name } });
  const path = (name: string) => `/api/v1/namespaces/${name}/configmaps`;
  const only = { allNamespaces: false, namespace: ['m', 'n'] } as const;
  const first = start(client, file, only);
  await first.informer.synced();
  await writeALot({ client: server.client, writes: 60, seed: 1, path: path('m') });
  await untilSaved(file, await writeLast(server.client, path('m')), 'm');
  await first.informer[Symbol.asyncDispose]();
  const { versions } = (await savedIn(file))!;
  expect(Object.keys(versions).sort()).toEqual(['m', 'n']);
  expect(BigInt(versions.m!)).toBeGreaterThan(BigInt(versions.n!));

  await client.resource(configMaps, 'm').delete('the-last');
  await writeALot({ client: server.client, writes: 20, seed: 2, path: path('n') });
  const second = start(client, file, only);
  await second.informer.synced();
  const last = await writeLast(server.client, path('n'));
  await writeLast(server.client, path('m'), 'the-end');
  await until(() => second.informer.get('m/the-end') !== undefined && second.informer.get('n/the-last') !== undefined);
  expect(BigInt(second.informer.resourceVersion!)).toBeGreaterThanOrEqual(BigInt(last));
  const list = async (name: string) => (await client.resource(configMaps, name).list()).items;
  expect(versionsOf(second.informer.list())).toEqual(versionsOf([...(await list('m')), ...(await list('n'))]));
  expect(second.informer.metrics.lists).toBe(0);
  await second.informer[Symbol.asyncDispose]();
});

it.each<
  [what: string, spoil: (file: string) => Promise<void>, options: Partial<InformerOptions<ConfigMap>>, why: RegExp]
>([
  [
    'that is damaged',
    async (file) => {
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('"default"', '"DEFAULT"'));
    },
    {},
    /its line \d+ is damaged/,
  ],
  ['that is none', (file) => writeFile(file, 'hello\nworld\n'), {}, /its first line is damaged/],
  ['of other labels', async () => {}, { labelSelector: 'app=web' }, /its labelSelector is "", and not "app=web"/],
  [
    'of other namespaces',
    async () => {},
    { allNamespaces: false },
    /its namespaces is \["\*"\], and not \["default"\]/,
  ],
  [
    'of another transform',
    async () => {},
    { transform: (map) => map },
    /its shape is "whole", and not "transformed by/,
  ],
])('a file %s is set aside and told, and the state is fetched', async (_what, spoil, options, why) => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  const first = start(client, file);
  await first.subscription.synced();
  await first.informer[Symbol.asyncDispose]();
  await spoil(file);
  const text = await readFile(file, 'utf8');
  const errors: unknown[] = [];
  const named = options.transform && { checkpoint: { file, flushMs: 5, transformId: 'other' } };
  const { informer } = start(client, file, { ...options, ...named, onError: (error) => void errors.push(error) });
  await informer.synced();
  expect(errors).toMatchObject([{ name: 'CheckpointError', code: 'Unusable', message: expect.stringMatching(why) }]);
  expect(informer.metrics.lists).toBe(1);
  expect(await readFile(`${file}.set-aside`, 'utf8')).toBe(text);
  await until(() => informer.metrics.checkpoint!.rewrites === 1);
  await informer[Symbol.asyncDispose]();
  const scope = options.allNamespaces === false ? 'default' : '*';
  expect((await savedIn(file))?.versions[scope]).toBe(informer.resourceVersion);
});

it('a torn end is what a crash leaves: the rest is used', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  const first = start(client, file);
  await first.subscription.synced();
  await first.informer[Symbol.asyncDispose]();
  await appendFile(file, '12345678 +{"apiVersion":"v1","kin');
  const { informer } = start(client, file);
  await informer.synced();
  expect([informer.get('default/a') !== undefined, informer.metrics.lists]).toEqual([true, 0]);
  await expectSame(informer, server.client, client);
  await informer[Symbol.asyncDispose]();
});

it('two informers on one file: the second is refused, the first goes on', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const first = start(client, file);
  await first.informer.synced();
  const second = start(client, file, { onError: () => {} });
  await expect(second.informer.synced()).rejects.toMatchObject({ name: 'CheckpointError', code: 'Locked' });
  expect(second.informer.freshness).toMatchObject({ state: 'stopped', error: { code: 'Locked' } });
  await second.informer[Symbol.asyncDispose]();
  await expectSame(first.informer, server.client, client);
  await first.informer[Symbol.asyncDispose]();
});

it('what a handler is not through with is told again', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const { metadata } = await maps.create({ metadata: { name: 'a' } });
  const informer = new Informer(client, configMaps, { reflector, checkpoint: { file, flushMs: 5 } });
  let isStuck = () => {};
  const stuck = new Promise<void>((resolve) => {
    isStuck = resolve;
  });
  informer.subscribe(({ type }, signal) => {
    if (type !== 'deleted') return undefined;
    isStuck();
    return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  });
  await untilSaved(file, metadata.resourceVersion, 'default');
  await until(() => informer.metrics.checkpoint!.commits === 1);
  await maps.delete('a');
  await stuck;
  await until(() => informer.get('default/a') === undefined);
  await maps.create({ metadata: { name: 'b' } });
  await until(() => informer.get('default/b') !== undefined);
  await informer[Symbol.asyncDispose]();
  expect(informer.metrics.checkpoint!.commits).toBe(1);
  const again = new Informer(client, configMaps, { reflector, checkpoint: { file, flushMs: 5 } });
  const handler = new Believer<ConfigMap>();
  again.subscribe(handler.take);
  await until(() => handler.told.some(({ key }) => key === 'default/b'));
  expect(handler.since(0).filter((line) => line.endsWith('/a'))).toEqual(['added default/a', 'deleted default/a']);
  expect(again.metrics.lists).toBe(0);
  await again[Symbol.asyncDispose]();
});

/** Two ways to be told; each gives a way to leave, which resolves when it has left. */
const listeners: [
  string,
  (informer: Informer<ConfigMap>, take: (key: string) => Promise<void>) => () => Promise<void>,
][] = [
  [
    'a handler',
    (informer, take) => {
      const subscription = informer.subscribe(({ key }) => take(key));
      return () => subscription[Symbol.asyncDispose]();
    },
  ],
  [
    'a stream',
    (informer, take) => {
      const stop = new AbortController();
      const reading = (async () => {
        for await (const { key } of informer.events({ signal: stop.signal })) await take(key);
      })();
      return async () => {
        stop.abort(new Error('enough'));
        await expect(reading).rejects.toThrow('enough');
      };
    },
  ],
];

it.each(listeners)('deletions that %s was not told before it left are told by the next process', async (_, listen) => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  for (const name of ['a', 'b']) await maps.create({ metadata: { name } });
  const first = new Informer(client, configMaps, { reflector, checkpoint: { file, flushMs: 5 } });
  const told: string[] = [];
  let finish = () => {};
  const leave = listen(first, async (key) => {
    told.push(key);
    if (key !== 'default/slow') return;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  await first.synced();
  await untilSaved(file, first.resourceVersion!, 'default');
  await maps.create({ metadata: { name: 'slow' } });
  await until(() => told.includes('default/slow'));
  const { commits } = first.metrics.checkpoint!;
  await maps.delete('b');
  await until(() => first.get('default/b') === undefined);
  const left = leave();
  for (let n = 0; n < 10; n++) await maps.list(); // time enough to write, while the last event is still in hand
  finish();
  await left;
  for (let n = 0; n < 10; n++) await maps.list(); // and when it is not
  await first[Symbol.asyncDispose]();
  expect(first.metrics.checkpoint!.commits).toBeLessThanOrEqual(commits + 1); // that of the creation may be one
  expect([...(await savedIn(file))!.objects.keys()]).toContain('default/b');
  const { informer, handler } = start(client, file, { allNamespaces: false });
  await until(() => handler.since(0).includes('deleted default/b'));
  expect(informer.metrics.lists).toBe(0);
  await informer[Symbol.asyncDispose]();
});

it('a deletion that comes in the very moment of closing is told by the next process', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps');
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  await maps.create({ metadata: { name: 'a' } });
  let onObject = () => {};
  const transform = (object: ConfigMap) => {
    onObject();
    return object;
  };
  const checkpoint = { file, flushMs: 5, transformId: 'none' };
  const first = start(client, file, { allNamespaces: false, checkpoint, transform });
  await first.informer.saved();
  const closed = new Promise<void>((resolve) => {
    onObject = () => resolve(first.informer[Symbol.asyncDispose]()); // the store does not know yet
  });
  await maps.delete('a');
  await closed;
  expect(first.handler.since(0)).not.toContain('deleted default/a');
  const second = start(client, file, { allNamespaces: false, checkpoint, transform });
  await until(() => second.handler.since(0).includes('deleted default/a'));
  expect(second.informer.metrics.lists).toBe(0);
  await second.informer[Symbol.asyncDispose]();
});

it('a disk that fails is told, and the informer goes on without', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  await writeFile(join(dir.path, 'no-folder'), '');
  await using client = await adminOf(server);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const { informer } = start(client, join(dir.path, 'no-folder', 'maps'), { onError });
  await informer.synced();
  await expectSame(informer, server.client, client);
  await informer[Symbol.asyncDispose]();
  expect(errors).toMatchObject([
    { name: 'CheckpointError', code: 'Disk', message: expect.stringContaining('no-folder') },
  ]);
});

it('in a folder each selection has a file of its own, also of metadata only', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const folder = join(dir.path, 'state');
  await mkdir(folder);
  await using client = await adminOf(server);
  await client.resource(secrets).create({ metadata: { name: 's' }, stringData: { password: 'hunter2' } });
  for (let round = 0; round < 2; round++) {
    await using factory = client.informers({ checkpoint: `${folder}/`, reflector });
    factory.acquire(configMaps, { allNamespaces: true });
    factory.acquire(configMaps);
    const { informer } = factory.acquire(metadataOf(secrets));
    await factory.synced();
    expect(informer.get('default/s')?.metadata.name).toBe('s');
    const total = factory.informers.reduce((sum, one) => sum + one.metrics.lists, 0);
    expect(total).toBe(round === 0 ? 3 : 0);
  }
  const files = (await readdir(folder)).sort();
  expect(files.map((name) => name.replace(/-[0-9a-f]{12}\./, '-#.'))).toEqual([
    'configmaps.v1-#.checkpoint',
    'configmaps.v1-#.checkpoint',
    'secrets.v1-#.checkpoint',
  ]);
  expect(await readFile(join(folder, files[2]!), 'utf8')).not.toMatch(/hunter2|aHVudGVyMg/);
});

it('a watch without an informer goes on where the last process was: at least once, the initial state first', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  const file = join(dir.path, 'maps.version');
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const signal = AbortSignal.timeout(20_000);
  /** As a process that handles events up to the object of this name, and dies while it handles it. */
  const handleUpTo = async (name: string, onInitialEnd: () => unknown = () => {}) => {
    await using checkpoint = versionCheckpoint(file);
    const seen: string[] = [];
    for await (const event of client.watchFrom(configMaps, checkpoint, { signal })) {
      if (event.type === 'BOOKMARK') {
        if (event.isInitialEventsEnd) await onInitialEnd();
        continue;
      }
      seen.push(`${event.type} ${event.object.metadata.name}`);
      if (event.object.metadata.name === name) break;
    }
    return seen;
  };
  await maps.create({ metadata: { name: 'a' } });
  await maps.create({ metadata: { name: 'b' } });
  expect(await handleUpTo('b')).toContain('ADDED a');
  expect(await versionCheckpoint(file).load()).toBeUndefined(); // in the middle of the initial state
  await maps.create({ metadata: { name: 'c' } });
  const all = await handleUpTo('d', async () => {
    await maps.create({ metadata: { name: 'c2' } });
    await maps.delete('a');
    await maps.create({ metadata: { name: 'd' } });
  });
  expect(all.slice(-3)).toEqual(['ADDED c2', 'DELETED a', 'ADDED d']);
  expect(all).toEqual(expect.arrayContaining(['ADDED a', 'ADDED b', 'ADDED c']));
  await maps.delete('b');
  await maps.create({ metadata: { name: 'e' } });
  expect(await handleUpTo('e')).toEqual(['ADDED d', 'DELETED b', 'ADDED e']);
});
