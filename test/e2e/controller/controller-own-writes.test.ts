/**
 * A reconcile never sees a cache that is older than what the reconcile before it wrote. The watches behind the cache
 * are held still by a network that lets other connections through, so that without the promise each of these tests
 * fails.
 */
import { expect, it } from 'vitest';
import { KubeClient, mergePatch } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import {
  type Cached,
  type ControllerOptions,
  defineController,
  Manager,
  type ReconcileContext,
  requeueAfter,
  type Selected,
} from '../../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../../src/testing/index.ts';
import { accessOf, adminOf, until } from '../../support/client/client-under-test.ts';
import { Diary, fast, fastRetries } from '../../support/client/controller-under-test.ts';
import { startTcpProxyTo, type TcpProxy } from '../../support/tcp-proxy.ts';

type Grounds = AsyncDisposable & {
  readonly admin: KubeClient;
  readonly proxy: TcpProxy;
  readonly clock: FakeClock;
  readonly diary: Diary;
  /** What each reconcile of `subject` saw of the ConfigMap `child`, or of all ConfigMaps. */
  readonly seen: (string | undefined)[];
};

type Play = {
  /** The first reconcile. */
  readonly act: (context: ReconcileContext, admin: KubeClient) => Promise<unknown>;
  readonly look: (maps: Cached<ConfigMap>) => string | undefined;
  readonly options?: Partial<ControllerOptions>;
  readonly select?: Partial<Selected<ConfigMap>>;
};

/** The Secret `subject` is reconciled twice: first to write, then to look. The watches stand still in between. */
async function play({ act, look, options, select }: Play): Promise<Grounds> {
  const server = await startTestServer();
  const proxy = await startTcpProxyTo(server);
  const admin = await adminOf(server);
  const access = await accessOf(server);
  const client = new KubeClient({ ...access, server: new URL(`https://127.0.0.1:${proxy.port}`) });
  await admin.resource(secrets).create({ metadata: { name: 'subject', labels: { subject: 'yes' } } });
  await admin.resource(configMaps).create({ metadata: { name: 'child', labels: { a: 'b' } }, data: { v: 'old' } });
  const clock = new FakeClock();
  const diary = new Diary();
  const seen: (string | undefined)[] = [];
  const manager = new Manager({ client, ...fast, clock, observer: diary.observer, graceMs: 0 });
  manager.add(
    defineController({
      name: 'writer',
      queue: fastRetries,
      ...options,
      for: { resource: secrets, labelSelector: 'subject' },
      reads: [{ resource: configMaps, ...select }],
      async reconcile(secret, context) {
        if (!secret) return undefined;
        diary.note(secret, context);
        if (diary.entries.length === 1) {
          proxy.stall(); // nothing but watches is open yet
          await act(context, admin);
          return requeueAfter(0);
        }
        seen.push(look(context.cache.of(configMaps)));
        return undefined;
      },
    }),
  );
  manager.start();
  await until(() => diary.outcomes.length > 0);
  expect(diary.outcomes[0]).toMatchObject({ result: 'requeue_after' });
  return {
    ...{ admin, proxy, clock, diary, seen },
    async [Symbol.asyncDispose]() {
      proxy.cut();
      const stopped = manager.stop();
      await clock.advance(60_000);
      await stopped;
      for (const one of [client, admin, proxy, server]) await one[Symbol.asyncDispose]();
    },
  };
}

const valueOfChild = (maps: Cached<ConfigMap>) => maps.get('default/child')?.data?.v;
const create = ({ client }: ReconcileContext) =>
  client.resource(configMaps).create({ metadata: { name: 'fresh' }, data: { v: 'new' } });
const valueOfFresh = (maps: Cached<ConfigMap>) => maps.get('default/fresh')?.data?.v;

it.each<[write: string, act: Play['act'], look: Play['look'], after: string | undefined, before: string | undefined]>([
  ['created', create, valueOfFresh, 'new', undefined],
  [
    'updated',
    ({ client, cache }) => {
      const map = cache.of(configMaps).get('default/child')!;
      return client.resource(configMaps).update({ ...map, data: { v: 'new' } });
    },
    valueOfChild,
    'new',
    'old',
  ],
  [
    'patched',
    ({ client }) => client.resource(configMaps).patch('child', mergePatch({ data: { v: 'new' } })),
    valueOfChild,
    'new',
    'old',
  ],
  [
    'applied',
    ({ client }) =>
      client
        .resource(configMaps)
        .apply({ metadata: { name: 'child' }, data: { v: 'new' } }, { fieldManager: 'me', force: true }),
    valueOfChild,
    'new',
    'old',
  ],
  ['deleted', ({ client }) => client.resource(configMaps).delete('child'), valueOfChild, undefined, 'old'],
  [
    'created and deleted',
    async (context) => {
      await create(context);
      await context.client.resource(configMaps).delete('child');
    },
    (maps) => `${valueOfFresh(maps)} ${valueOfChild(maps)}`,
    'new undefined',
    'undefined old',
  ],
  [
    'replaced by another of its name',
    async ({ client }) => {
      await client.resource(configMaps).delete('child');
      await client.resource(configMaps).create({ metadata: { name: 'child' }, data: { v: 'new' } });
    },
    valueOfChild,
    'new',
    'old',
  ],
])('the next reconcile sees what was %s', async (_write, act, look, after, before) => {
  await using gated = await play({ act, look });
  expect(gated.seen).toEqual([]); // the second waits, though it is due
  gated.proxy.cut(); // the watches are taken up where they were, and go on
  await until(() => gated.seen.length > 0);
  expect(gated.seen).toEqual([after]);
  expect(gated.diary.outcomes.map(({ result }) => result)).toEqual(['requeue_after', 'success']);

  await using blind = await play({ act, look, options: { ownWritesTimeoutMs: 0 } });
  await until(() => blind.seen.length > 0);
  expect(blind.seen).toEqual([before]);
});

it('what was written by other means counts when it is told of', async () => {
  await using all = await play({
    async act({ wrote }, admin) {
      wrote(await admin.resource(configMaps).patch('child', mergePatch({ data: { v: 'new' } })));
    },
    look: valueOfChild,
  });
  expect(all.seen).toEqual([]);
  all.proxy.cut();
  await until(() => all.seen.length > 0);
  expect(all.seen).toEqual(['new']);
});

it('a cache that does not get there in time is called stale, and the key is tried again until it does', async () => {
  await using all = await play({ act: create, look: valueOfFresh });
  const { clock, diary, proxy, seen } = all;
  await clock.advance(5_000);
  expect(diary.outcomes[1]).toMatchObject({
    result: 'error',
    error: {
      name: 'StaleCacheError',
      message: expect.stringMatching(/^Cannot reconcile "default\/subject": the cache of configmaps is silent/),
    },
  });
  proxy.refuses = true;
  proxy.cut();
  await clock.advance(6_000);
  expect(diary.outcomes[2]).toMatchObject({ error: { message: expect.stringMatching(/configmaps is interrupted/) } });
  expect(seen).toEqual([]);
  proxy.refuses = false;
  await until(async () => {
    await clock.advance(10);
    return seen.length > 0;
  });
  expect(seen).toEqual(['new']);
});

it('what a selection does not hold is not waited for', async () => {
  const labelled = { labelSelector: 'a=b' };
  await using all = await play({ act: create, look: (maps) => String(maps.size), select: labelled });
  await until(() => all.seen.length > 0);
  expect(all.seen).toEqual(['1']);
});

it('what leaves a selection is waited for', async () => {
  const act: Play['act'] = ({ client }) =>
    client.resource(configMaps).patch('child', mergePatch({ metadata: { labels: { a: 'c' } } }));
  await using all = await play({ act, look: (maps) => String(maps.size), select: { labelSelector: 'a=b' } });
  expect(all.seen).toEqual([]);
  all.proxy.cut();
  await until(() => all.seen.length > 0);
  expect(all.seen).toEqual(['0']);
});

it('what a field selector hides is not waited for', async () => {
  const fieldSelector = { 'metadata.name': 'child' };
  await using all = await play({ act: create, look: (maps) => String(maps.size), select: { fieldSelector } });
  await until(() => all.seen.length > 0); // no time passes by itself
  expect(all.seen).toEqual(['1']);
});

it('many writes at a time are all waited for, and nobody is warned of leaks', async () => {
  const warnings: Error[] = [];
  const hear = (warning: Error) => void warnings.push(warning);
  process.on('warning', hear);
  const names = Array.from({ length: 30 }, (_, n) => `many-${n}`);
  const act: Play['act'] = ({ client }) =>
    Promise.all(names.map((name) => client.resource(configMaps).create({ metadata: { name, labels: { many: '' } } })));
  const look: Play['look'] = (maps) => String(maps.list({ labelSelector: 'many' }).length);
  await using all = await play({ act, look });
  expect(all.seen).toEqual([]);
  all.proxy.cut();
  await until(() => all.seen.length > 0);
  process.off('warning', hear);
  expect([all.seen, warnings]).toEqual([['30'], []]);
});

it('a trial run writes nothing, and nothing is waited for', async () => {
  const act: Play['act'] = ({ client }) =>
    client.resource(configMaps).create({ metadata: { name: 'fresh' } }, { dryRun: true });
  await using all = await play({ act, look: valueOfFresh });
  await until(() => all.seen.length > 0);
  expect(all.seen).toEqual([undefined]);
});
