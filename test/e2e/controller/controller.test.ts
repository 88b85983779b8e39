/** Controllers under a manager on a real server: what they are told, when, and that the world comes out right. */
import { expect, it } from 'vitest';
import { KubeClient, mergePatch } from '../../../src/client/index.ts';
import { configMaps, namespaces, secrets } from '../../../src/client/objects/generated/core-v1.ts';
import { clusterRoleBindings, clusterRoles } from '../../../src/client/objects/generated/rbac-v1.ts';
import {
  defineController,
  generationChanged,
  LOW_PRIORITY,
  Manager,
  requeueAfter,
  setControllerReference,
  TerminalError,
  toOwners,
} from '../../../src/controller/index.ts';
import { FakeClock, startTestServer } from '../../../src/testing/index.ts';
import { accessOf, adminOf, until } from '../../support/client/client-under-test.ts';
import {
  copiesAndWishes,
  Diary,
  fast,
  fastRetries,
  installWebsites,
  websiteController,
  websites,
} from '../../support/client/controller-under-test.ts';

const spec = { copies: 0, text: '' };

it('a controller of a custom kind brings the world to what is wished for, whoever writes meanwhile', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  await client.resource(namespaces).create({ metadata: { name: 'other' } });
  await using manager = new Manager({ client, ...fast });
  manager.add(websiteController({ concurrency: 3 }));
  manager.start();
  const write = async (namespace: string, writer: number) => {
    const sites = client.resource(websites, namespace);
    for (let round = 0; round < 12; round++) {
      const name = `site-${(writer + round) % 4}`;
      const text = `${writer}.${round}`;
      const wish = { copies: (writer * 3 + round) % 5, text };
      await sites.create({ metadata: { name }, spec: wish }).catch(() => {});
      await sites.patch(name, mergePatch({ spec: wish })).catch(() => {});
      if (round % 4 === 3) await sites.delete(name).catch(() => {});
      // Somebody meddles with what is the controller's.
      await client
        .resource(configMaps, namespace)
        .delete(`${name}-0`)
        .catch(() => {});
      await client
        .resource(configMaps, namespace)
        .patch(`${name}-1`, mergePatch({ data: { text: 'no' } }))
        .catch(() => {});
    }
  };
  await Promise.all([0, 1, 2, 3].map((writer) => write(writer % 2 ? 'other' : 'default', writer)));
  let last = await copiesAndWishes(client);
  await until(async () => {
    last = await copiesAndWishes(client);
    return last.found.join() === last.wanted.join();
  });
  expect(last.wanted.length).toBeGreaterThan(3);
  await until(async () =>
    (await client.resource(websites).list({ allNamespaces: true })).items.every(
      ({ metadata, spec, status }) => !metadata.deletionTimestamp && status?.copies === spec.copies,
    ),
  );
});

it('an owned object is a cause for its owner: when it comes, changes, goes, and changes hands', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  const diary = new Diary();
  await using manager = new Manager({ client, ...fast });
  manager.add(
    defineController({
      name: 'diary',
      for: { resource: websites, where: generationChanged },
      owns: [configMaps],
      watches: [{ resource: secrets, map: toOwners(websites) }],
      reconcile: (website, context) => diary.note(website, context),
    }),
  );
  manager.start();
  await manager.ready();
  const sites = client.resource(websites);
  const a = await sites.create({ metadata: { name: 'a' }, spec });
  const b = await sites.create({ metadata: { name: 'b' }, spec });
  await until(() => diary.entries.length === 2);
  expect(diary.entries).toMatchObject([
    { key: 'default/a', causes: ['added Website default/a'], isThere: true, priority: 0, attempt: 1 },
    { key: 'default/b', causes: ['added Website default/b'], isThere: true },
  ]);

  const maps = client.resource(configMaps);
  const draft = { metadata: { name: 'm', namespace: 'default' } };
  const owned = await maps.create(setControllerReference(a, draft));
  await until(() => diary.causesOf('default/a').includes('added ConfigMap default/m'));
  const { ownerReferences = [] } = setControllerReference(b, draft).metadata as { ownerReferences?: [] };
  await maps.update({ ...owned, metadata: { ...owned.metadata, ownerReferences } });
  await until(() => diary.causesOf('default/b').includes('updated ConfigMap default/m'));
  expect(diary.causesOf('default/a')).toContain('updated ConfigMap default/m');
  await maps.delete('m');
  await until(() => diary.causesOf('default/b').includes('deleted ConfigMap default/m'));
  expect(diary.causesOf('default/a')).not.toContain('deleted ConfigMap default/m');

  // An owner that does not control is one for `toOwners`, not for `owns`.
  const reference = { apiVersion: 'ex.io/v1', kind: 'Website', name: 'a', uid: a.metadata.uid };
  await maps.create({ metadata: { name: 'uncontrolled', ownerReferences: [reference] } });
  await client.resource(secrets).create({ metadata: { name: 's', ownerReferences: [reference] } });
  await until(() => diary.causesOf('default/a').includes('added Secret default/s'));
  expect(diary.causesOf('default/a')).not.toContain('added ConfigMap default/uncontrolled');

  // A status is no reason to look again: the next that is heard of `a` is that it is gone.
  const before = diary.entries.length;
  await sites.status.patch('a', mergePatch({ status: { copies: 7 } }));
  await sites.delete('a');
  await until(() => diary.entries.length > before);
  expect(diary.entries.slice(before)).toMatchObject([
    { key: 'default/a', causes: ['deleted Website default/a'], isThere: false },
  ]);
});

it('what was there from the beginning comes last, and causes are kept through merging, a few of them', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  const sites = client.resource(websites);
  for (const name of ['a', 'b', 'c']) await sites.create({ metadata: { name }, spec });
  const diary = new Diary();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using manager = new Manager({ client, ...fast });
  manager.add(
    defineController({
      name: 'slow',
      for: websites,
      watches: [
        // The server has ConfigMaps of its own, which are about no site.
        {
          resource: configMaps,
          priority: 5,
          map: ({ metadata: { labels } }) => labels?.site && `default/${labels.site}`,
        },
        { resource: secrets, map: () => [] },
      ],
      concurrency: 1,
      queue: { causeLimit: 2 },
      async reconcile(website, context) {
        diary.note(website, context);
        await released;
      },
    }),
  );
  manager.start();
  await until(() => diary.entries.length === 1);
  const late = diary.entries[0]!.key === 'default/c' ? 'b' : 'c';
  const maps = client.resource(configMaps);
  for (const name of ['x', 'y', 'z']) await maps.create({ metadata: { name, labels: { site: late } } });
  const [controller] = manager.controllers;
  await until(() => (controller?.metrics().queue.workqueue_adds_total ?? 0) >= 3);
  await until(() => manager.informers.every(({ metrics }) => metrics.handlers.every(({ backlog }) => backlog === 0)));
  release();
  await until(() => diary.entries.length === 3);
  expect(diary.entries[0]).toMatchObject({
    priority: LOW_PRIORITY,
    causes: [expect.stringMatching(/^initial Website/)],
  });
  expect(diary.entries[1]).toMatchObject({
    key: `default/${late}`,
    priority: 5,
    causes: [`initial Website default/${late}`, 'added ConfigMap default/x'],
  });
});

it('mappers and reconciles read declared kinds by index; what is not declared cannot be read', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  const sites = client.resource(websites);
  await sites.create({ metadata: { name: 'a' }, spec: { copies: 0, text: 'red' } });
  await sites.create({ metadata: { name: 'b' }, spec: { copies: 0, text: 'blue' } });
  const diary = new Diary();
  const errors: string[] = [];
  const texts: (string | undefined)[] = [];
  await using manager = new Manager({ client, ...fast, observer: diary.observer });
  manager.add(
    defineController({
      name: 'indexed',
      for: { resource: websites, indexers: { byText: ({ spec: { text } }) => [text] } },
      watches: [{ resource: configMaps, map: (map, { cache }) => cache.of(websites).by('byText', map.metadata.name) }],
      reads: [namespaces],
      reconcile(website, context) {
        diary.note(website, context);
        texts.push(context.cache.of(namespaces).get('default')?.metadata.name);
        try {
          context.cache.of(secrets).list();
        } catch (err) {
          errors.push((err as Error).message);
        }
      },
    }),
  );
  manager.start();
  await until(() => diary.outcomes.length === 2);
  await client.resource(configMaps).create({ metadata: { name: 'red' } });
  await until(() => diary.entries.length === 3);
  expect(diary.entries[2]).toMatchObject({ key: 'default/a', causes: ['added ConfigMap default/red'] });
  expect(texts).toEqual(['default', 'default', 'default']);
  const known = 'websites.ex.io, configmaps, namespaces';
  expect(errors[0]).toBe(`Cannot read secrets from the cache: controller "indexed" declares only ${known}`);
  expect(manager.informers.map(({ resource }) => resource.plural)).not.toContain('secrets');
});

it('failures come back after a backoff, terminal ones do not, and requeues come when they are due', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await installWebsites(client);
  const clock = new FakeClock();
  const diary = new Diary();
  const told: unknown[] = [];
  await using manager = new Manager({
    ...{ client, ...fast, clock, observer: diary.observer },
    onError: (error, source) => void told.push([(error as Error).message, source]),
  });
  manager.add(
    defineController({
      name: 'moody',
      for: websites,
      timeoutMs: 1000,
      async reconcile(website, context) {
        diary.note(website, context);
        switch (context.name) {
          case 'fails':
            if (context.attempt < 3) throw new Error('not yet');
            return undefined;
          case 'hopeless':
            throw new TerminalError('never');
          case 'slow':
            await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
            throw context.signal.reason;
          default:
            return diary.entries.filter(({ key }) => key === context.key).length < 2 ? requeueAfter('30s') : undefined;
        }
      },
    }),
  );
  manager.start();
  await manager.ready();
  const count = (name: string) => diary.entries.filter(({ key }) => key === `default/${name}`).length;
  const sites = client.resource(websites);

  await sites.create({ metadata: { name: 'fails' }, spec });
  await until(() => diary.outcomes.length === 1);
  await clock.advance(4);
  expect(count('fails')).toBe(1);
  await clock.advance(1);
  expect(count('fails')).toBe(2);
  await clock.advance(10);
  expect(diary.outcomes.map(({ result, attempt }) => `${result} ${attempt}`)).toEqual([
    'error 1',
    'error 2',
    'success 3',
  ]);
  expect(diary.entries.at(-1)?.causes).toEqual(['added Website default/fails']);

  await sites.create({ metadata: { name: 'hopeless' }, spec });
  await until(() => diary.outcomes.length === 4);
  await clock.advance(10 * 60_000);
  expect([count('hopeless'), diary.outcomes.at(-1)?.result]).toEqual([1, 'terminal_error']);

  await sites.create({ metadata: { name: 'later' }, spec });
  await until(() => diary.outcomes.length === 5);
  await clock.advance(29_999);
  expect(count('later')).toBe(1);
  await clock.advance(1);
  expect([count('later'), diary.entries.at(-1)?.causes]).toEqual([2, ['requeue']]);

  await sites.create({ metadata: { name: 'slow' }, spec });
  await until(() => count('slow') === 1);
  await clock.advance(1000);
  expect(diary.outcomes.at(-1)).toMatchObject({
    key: 'default/slow',
    result: 'error',
    error: { name: 'ReconcileTimeoutError' },
  });
  expect(manager.controllers[0]?.metrics().pool).toMatchObject({ controller_runtime_reconcile_timeouts_total: 1 });
  expect(told[0]).toEqual(['not yet', { part: 'reconcile', controller: 'moody', key: 'default/fails' }]);
});

it('a kind that may not be read holds up its own controller and nobody else, and health names it', async () => {
  await using server = await startTestServer();
  await using admin = await adminOf(server);
  await using client = new KubeClient({ ...(await accessOf(server)), impersonate: { user: 'jane' } });
  const grant = async (name: string, resource: string) => {
    const rules = [{ apiGroups: [''], resources: [resource], verbs: ['list', 'watch'] }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name } as const;
    const subjects = [{ kind: 'User' as const, name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }];
    await admin.resource(clusterRoles).create({ metadata: { name }, rules });
    await admin.resource(clusterRoleBindings).create({ metadata: { name }, roleRef, subjects });
  };
  await grant('maps', 'configmaps');
  const seen = { free: 0, held: 0 };
  await using manager = new Manager({ client, ...fast });
  manager.add(defineController({ name: 'free', for: configMaps, reconcile: () => void seen.free++ }));
  const held = manager.add(
    defineController({ name: 'held', for: configMaps, reads: [secrets], reconcile: () => void seen.held++ }),
  );
  manager.start();
  await admin.resource(configMaps).create({ metadata: { name: 'a' } });
  await until(() => seen.free > 0);
  await until(() => manager.health().informers.some(({ state }) => state === 'refused'));
  expect([seen.held, held.state, held.waitsFor]).toEqual([0, 'waiting', ['secrets']]);
  expect(manager.health()).toMatchObject({
    isLive: true,
    isReady: false,
    problems: [expect.stringMatching(/^informer secrets: refused: .*"jane" cannot (list|watch) resource "secrets"/)],
    informers: [
      { name: 'configmaps', controllers: ['free', 'held'], state: 'current', isReady: true },
      { name: 'secrets', controllers: ['held'], state: 'refused', isReady: false },
    ],
  });
  const impatient = new AbortController();
  const waiting = manager.ready(impatient.signal);
  impatient.abort(new Error('enough'));
  await expect(waiting).rejects.toMatchObject({
    name: 'NotReadyError',
    message: expect.stringMatching(/^Cannot wait for the manager any longer: informer secrets: refused/),
    cause: { message: 'enough' },
  });
  await grant('secrets', 'secrets');
  await until(() => seen.held > 0);
  expect([held.state, manager.health().isReady]).toEqual(['running', true]);
});

it('a controller of a kind that is not installed yet begins when it is', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await using manager = new Manager({ client, ...fast });
  const diary = new Diary();
  const controller = manager.add(
    defineController({ name: 'early', for: websites, reconcile: (site, context) => diary.note(site, context) }),
  );
  manager.start();
  await until(() => manager.informers[0]?.freshness.state === 'refused');
  expect([controller.state, controller.waitsFor]).toEqual(['waiting', ['websites.ex.io']]);
  await installWebsites(client);
  await client.resource(websites).create({ metadata: { name: 'a' }, spec });
  await until(() => diary.entries.length === 1);
  expect(controller.state).toBe('running');
});

it('controllers come and go while the manager runs; informers are shared, and go with the last that reads them', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await using manager = new Manager({ client, ...fast });
  const one = manager.add(defineController({ name: 'one', for: configMaps, reconcile: () => {} }));
  expect(() => manager.add(defineController({ name: 'one', for: secrets, reconcile: () => {} }))).toThrow(
    'Cannot add controller "one": there is one of that name',
  );
  manager.start();
  const heard: string[] = [];
  const two = manager.add(
    defineController({
      name: 'two',
      for: configMaps,
      owns: [secrets],
      reconcile: (_map, { key }) => void heard.push(key),
    }),
  );
  await until(() => two.state === 'running' && one.state === 'running');
  expect(manager.informers.length).toBe(2);
  await two[Symbol.asyncDispose]();
  expect([manager.informers.length, manager.controllers.map(({ name }) => name), two.state]).toEqual([
    1,
    ['one'],
    'stopped',
  ]);
  const count = heard.length;
  const { metadata } = await client.resource(configMaps).create({ metadata: { name: 'later' } });
  await manager.informers[0]?.reached(metadata.resourceVersion);
  await until(() => one.metrics().pool.controller_runtime_reconcile_total.success > count);
  expect(heard.length).toBe(count);
});

it('a queue that is full slows its events down, and loses none', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const keys = Array.from({ length: 12 }, (_, n) => `default/m${n}`);
  for (const key of keys) await maps.create({ metadata: { name: key.slice(8), labels: { a: 'b' } } });
  const clock = new FakeClock();
  const seen = new Set<string>();
  const errors: unknown[] = [];
  await using manager = new Manager({ client, clock, onError: (error) => void errors.push(error) });
  manager.add(
    defineController({
      name: 'narrow',
      for: { resource: configMaps, labelSelector: 'a=b' },
      queue: { limit: 3 },
      reconcile: (_map, { key }) => void seen.add(key),
    }),
  );
  manager.start();
  await until(async () => {
    await clock.advance(100);
    return seen.size === keys.length;
  });
  expect([...seen].sort()).toEqual(keys.sort());
  expect(errors).toEqual([]);
});

it('an index that a controller names twice is refused, and nothing stays behind', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  await using manager = new Manager({ client, ...fast });
  const byData = { resource: configMaps, indexers: { byData: () => ['a'] } };
  const twice = { resource: configMaps, indexers: { byData: () => ['b'] } };
  manager.start();
  const define = () => defineController({ name: 'twice', for: byData, reads: [secrets, twice], reconcile: () => {} });
  expect(() => manager.add(define())).toThrow('Cannot add index "twice/byData": another has that name');
  expect(manager.controllers).toEqual([]);
  await until(() => manager.informers.length === 0);
});

it('a reconcile is a span, its lines say whose they are, and observers and loggers that throw do no harm', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const warnings: string[] = [];
  const hear = (warning: Error) => void warnings.push(warning.message);
  process.on('warning', hear);
  const lines: unknown[] = [];
  const spans: unknown[] = [];
  const span = { setAttribute() {}, setStatus() {}, recordException() {}, end: () => void spans.push('end') };
  await using manager = new Manager({
    client,
    namespace: 'default',
    logger: {
      level: 2,
      log: (level, message, fields) => {
        lines.push([level, message, fields]);
        throw new Error('no disk');
      },
    },
    tracer: {
      startSpan: () => span,
      startActiveSpan: (name, { attributes }, work) => {
        spans.push([name, attributes]);
        return work(span);
      },
    },
    observer: {
      onReconcile: () => {
        throw new Error('no metrics');
      },
    },
  });
  let count = 0;
  manager.add(
    defineController({
      name: 'traced',
      for: { resource: configMaps, labelSelector: 'a' },
      reconcile(_map, { log }) {
        log.info('hello', { more: 1 });
        log.debug('not heard');
        if (++count === 1) throw new Error('oops');
      },
    }),
  );
  manager.start();
  await client.resource(configMaps).create({ metadata: { name: 'm', labels: { a: 'b' } } });
  await until(() => count === 2 && warnings.some((text) => text.includes('no metrics')));
  process.off('warning', hear);
  const where = { controller: 'traced', key: 'default/m' };
  const oops = /^controller "traced": reconcile of "default\/m" failed \(attempt 1, next try in 5 ms\): oops \(at /;
  expect(lines.slice(0, 4)).toMatchObject([
    [1, 'manager started: "traced"', {}],
    [1, 'controller "traced" runs', {}],
    [2, 'hello', { ...where, more: 1 }],
    [0, expect.stringMatching(oops), { ...where, part: 'reconcile' }],
  ]);
  const causes = expect.stringMatching(/Config/);
  expect(spans.slice(0, 3)).toEqual([
    ['reconcile', { ...where, attempt: 1, causes }],
    'end',
    ['reconcile', { ...where, attempt: 2, causes }],
  ]);
  expect(warnings).toContain('no disk');
});

it('a manager in one namespace sees nothing of others, and reconciles write where their key is', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  for (const name of ['x', 'y']) {
    await client.resource(namespaces).create({ metadata: { name } });
    await client.resource(configMaps, name).create({ metadata: { name: 'a' } });
  }
  await using manager = new Manager({ client, ...fast, namespace: 'x' });
  const keys: string[] = [];
  manager.add(
    defineController({
      name: 'local',
      for: { resource: configMaps, labelSelector: '!copy' },
      queue: fastRetries,
      async reconcile(map, { key, client }) {
        if (!map) return;
        keys.push(key);
        await client.resource(secrets).create({ metadata: { name: map.metadata.name } });
      },
    }),
  );
  manager.start();
  await until(async () => (await client.resource(secrets, 'x').find('a')) !== undefined);
  expect(new Set(keys)).toEqual(new Set(['x/a', 'x/kube-root-ca.crt'].filter((key) => keys.includes(key))));
  expect(await client.resource(secrets, 'y').find('a')).toBeUndefined();
});

it('a debounced key is reconciled once it was quiet, with all its causes, and other watches are not put off', async () => {
  await using server = await startTestServer();
  await using client = await adminOf(server);
  const maps = client.resource(configMaps);
  const clock = new FakeClock();
  const diary = new Diary();
  await using manager = new Manager({ client, ...fast, clock });
  const controller = manager.add(
    defineController({
      name: 'calm',
      debounceMs: 1000,
      for: { resource: configMaps, fieldSelector: 'metadata.name=a' },
      watches: [{ resource: secrets, debounceMs: 0, map: ({ metadata }) => `default/${metadata.name}` }],
      reconcile: (map, context) => diary.note(map, context),
    }),
  );
  manager.start();
  await manager.ready();
  const [ofMaps, ofSecrets] = controller.informers;
  await until(() => controller.state === 'running');
  const { metadata } = await maps.create({ metadata: { name: 'a' } });
  let last = metadata.resourceVersion;
  for (let n = 0; n < 5; n++)
    last = (await maps.patch('a', mergePatch({ data: { n: `${n}` } }))).metadata.resourceVersion;
  await ofMaps!.reached(last);
  await until(() => ofMaps!.metrics.handlers.every(({ backlog }) => backlog === 0));
  expect(controller.metrics().queue.workqueue_delayed).toBe(1);
  await clock.advance(999);
  expect(diary.entries).toEqual([]);
  await clock.advance(1);
  expect(diary.entries).toMatchObject([
    { key: 'default/a', causes: ['added ConfigMap default/a', 'updated ConfigMap default/a'] },
  ]);

  await maps.patch('a', mergePatch({ data: { n: 'more' } }));
  await until(() => controller.metrics().queue.workqueue_delayed === 1);
  await client.resource(secrets).create({ metadata: { name: 'a' } });
  await until(() => diary.entries.length === 2); // the clock stands still
  expect(diary.entries[1]!.causes).toEqual(['added Secret default/a', 'updated ConfigMap default/a']);
  expect(ofSecrets!.size).toBe(1);
  expect(controller.metrics().queue).toMatchObject({ workqueue_delayed: 0, workqueue_depth: 0 });
});
