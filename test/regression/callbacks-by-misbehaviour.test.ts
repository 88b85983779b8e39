/**
 * Whatever a user's function does wrong, in every place where a manager calls one: the rest goes on, the key is not
 * lost, and somebody is told, once, with the name of the function and what it was asked about.
 *
 * A row is a function, a column a misbehaviour. A function that holds the thread cannot be helped from inside it; `hangs`
 * is a promise that never settles.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type KubeClient, mergePatch } from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager, type ManagerOptions, type Reconcile } from '../../src/controller/index.ts';
import { startTestServer, type TestServer } from '../../src/testing/index.ts';
import { adminOf, until } from '../support/client/client-under-test.ts';
import { fast, fastRetries } from '../support/client/controller-under-test.ts';
import { type Misbehaving, misbehaviours } from './misbehaviours.ts';
import { listenToProcess } from './unhandled.ts';

const { warnings, rejections } = listenToProcess();

type Spoilt = {
  readonly manager?: (bad: Misbehaving) => Partial<ManagerOptions>;
  readonly watch?: (bad: Misbehaving) => object;
  readonly reconcile?: (bad: Misbehaving) => Reconcile<ConfigMap>;
  /** The misbehaviours that cost the key its reconcile, for as long as they last. */
  readonly holds?: readonly string[];
  /** What somebody is told of them, by `onError` or as a warning; those that do no harm are told by nobody. */
  readonly told?: Readonly<Record<string, RegExp>>;
};

const quiet = { level: 9, log: () => {} };
const spanned = (bad: Misbehaving, part: string) => {
  const span = { setAttribute() {}, setStatus() {}, recordException() {}, end() {} };
  return {
    startSpan: () => span,
    startActiveSpan: (_name: string, _options: unknown, work: (given: typeof span) => unknown) =>
      part === 'startActiveSpan' ? bad() : work({ ...span, [part]: bad }),
  };
};
const where = /Cannot ask "where" of controller "spoilt" for configmaps about "default\/a"/;
const map = /Cannot ask "map" of controller "spoilt" for configmaps about "default\/a"/;
const index = /Cannot ask "index spoilt\/bad" of the informer about "default\/a"/;
const bad = /bad/;

const callbacks: Record<string, Spoilt> = {
  where: { watch: (where) => ({ where }), told: { throws: where, rejects: where, hangs: where } },
  map: {
    watch: (map) => ({ map }),
    holds: Object.keys(misbehaviours),
    told: { throws: map, rejects: map, hangs: map, 'gives nonsense': map },
  },
  reconcile: {
    reconcile: (work) => work as never,
    holds: ['throws', 'rejects', 'hangs'],
    told: { throws: bad, rejects: bad },
  },
  'index function': {
    watch: (valuesOf) => ({ indexers: { bad: valuesOf } }),
    told: { throws: index, rejects: index, hangs: index, 'gives nonsense': index },
  },
  'logger.log': { manager: (log) => ({ logger: { level: 9, log } }), told: { throws: bad, rejects: bad } },
  'tracer.startActiveSpan': {
    manager: (start) => ({ tracer: spanned(start, 'startActiveSpan') as never }),
    told: { throws: /Cannot ask "tracer" of the manager: bad/ },
  },
  'span.end': {
    manager: (end) => ({ tracer: spanned(end, 'end') as never }),
    told: { throws: /Cannot ask "tracer" of the manager: bad/, rejects: /Cannot ask "tracer" of the manager: bad/ },
  },
  'observer.onReconcile': {
    manager: (onReconcile) => ({ observer: { onReconcile } }),
    told: { throws: bad, rejects: bad },
  },
  'observer.queue': { manager: (queue) => ({ observer: { queue } }), told: { throws: bad, rejects: bad } },
  'queue.onAdd': {
    manager: (onAdd) => ({ observer: { queue: () => ({ onAdd }) } }),
    told: { throws: bad, rejects: bad },
  },
};

let server: TestServer;
let client: KubeClient;

beforeAll(async () => {
  server = await startTestServer();
  client = await adminOf(server);
});

afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const cells = Object.keys(callbacks).flatMap((callback) =>
  Object.keys(misbehaviours).map((misbehaviour) => [callback, misbehaviour] as const),
);

it.each(cells)('%s that %s: the rest goes on', async (callback, misbehaviour) => {
  const { manager: options, watch, reconcile, holds = [], told = {} } = callbacks[callback]!;
  const bad = misbehaviours[misbehaviour]!;
  const worked: string[] = [];
  const errors: string[] = [];
  await client
    .resource(configMaps)
    .delete('a')
    .catch(() => {});
  await using manager = new Manager({
    ...{ client, ...fast, logger: quiet, graceMs: 0, abortGraceMs: 0, namespace: 'default' },
    onError: (error) => void errors.push(error instanceof Error ? error.message : String(error)),
    ...options?.(bad),
  });
  const noting =
    (who: string): Reconcile<ConfigMap> =>
    (object) =>
      void (object?.metadata.name === 'a' && worked.push(who));
  const spoilt = reconcile?.(bad) ?? noting('spoilt');
  const owned = watch?.(bad) ?? {};
  manager.add(
    'map' in owned
      ? defineController({
          ...{ name: 'spoilt', for: { resource: configMaps, where: () => false }, queue: fastRetries },
          ...{ watches: [{ resource: configMaps, map: bad }], reconcile: spoilt },
        })
      : defineController({
          name: 'spoilt',
          for: { resource: configMaps, ...owned },
          queue: fastRetries,
          reconcile: spoilt,
        }),
  );
  manager.add(defineController({ name: 'other', for: configMaps, reconcile: noting('other') }));
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => worked.includes('other'));
  if (!holds.includes(misbehaviour) && !reconcile) await until(() => worked.includes('spoilt'));
  const wanted = told[misbehaviour];
  const heard = () => [...errors, ...warnings];
  if (wanted) await until(() => heard().some((text) => wanted.test(text)));
  else expect(heard()).toEqual([]);
  if (wanted && callback !== 'reconcile') {
    const count = () => heard().filter((text) => wanted.test(text)).length;
    const [before, times] = [count(), worked.length];
    await client.resource(configMaps).patch('a', mergePatch({ data: { more: 'news' } }));
    await until(() => worked.length > times);
    expect(count()).toBe(before);
  }
  expect(manager.health()).toMatchObject({ isLive: true });
  expect(rejections).toEqual([]);
});
