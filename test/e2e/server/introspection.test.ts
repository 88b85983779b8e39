/**
 * What the server tells of itself, asked over real connections: who watches and how far behind, why history was gone, what
 * an object was.
 */
import { expect, it } from 'vitest';
import { isStatusError, type JsonObject, type KubeObject } from '../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';
import { onEveryGround } from '../../support/server/grounds.ts';

const API = '/apis/introspection.longwatch.dev/v1alpha1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

const configMap = (name: string, data: Record<string, string>) => ({ metadata: { name }, data });

const is = (reason: string) => (err: unknown) => isStatusError(err, reason);

type Shown = KubeObject & { spec: JsonObject; status: JsonObject & { behind: Record<string, number> } };

async function watchesOf(server: TestServer, resource: string): Promise<Shown[]> {
  const query = { fieldSelector: `spec.resource=${resource}` };
  return (await server.client.list(`${API}/watches`, query)).items as Shown[];
}

onEveryGround((ground) => {
  it('an open watch is an object that tells who watches what, and goes with it', async () => {
    await using server = await ground.open({ introspection: true });
    const { client } = server;
    await client.create(CONFIG_MAPS, configMap('a', { k: '1' }));
    const query = { watch: true, labelSelector: 'app=web', allowWatchBookmarks: true };
    const stream = await client.watch('/api/v1/namespaces/default/configmaps', query);
    const [shown] = await eventually(async () => {
      const found = await watchesOf(server, 'configmaps');
      expect(found.map(({ status }) => status.state)).toEqual(['Live']);
      return found;
    });
    expect(shown).toMatchObject({
      apiVersion: 'introspection.longwatch.dev/v1alpha1',
      kind: 'Watch',
      metadata: { name: expect.stringMatching(/^configmaps-\d+$/), creationTimestamp: expect.any(String) },
      spec: {
        user: 'kubernetes-admin',
        groups: expect.arrayContaining(['system:masters']),
        address: '127.0.0.1',
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: 'default',
        labelSelector: 'app=web',
        allowsBookmarks: true,
        sendsInitialEvents: true,
      },
      status: { behind: { revisions: 0, seconds: 0 }, eventsSent: 0, bookmarksSent: 1, worker: 0 },
    });
    await client.create(CONFIG_MAPS, { ...configMap('b', {}), metadata: { name: 'b', labels: { app: 'web' } } });
    await stream.until(({ type }) => type === 'ADDED');
    await eventually(async () => {
      const [now] = await watchesOf(server, 'configmaps');
      expect(now!.status).toMatchObject({ eventsSent: 1, bytesSent: expect.any(Number) });
    });
    await stream[Symbol.asyncDispose]();
    await eventually(async () => expect(await watchesOf(server, 'configmaps')).toEqual([]));
  });

  it('deleting a watch ends its stream cleanly, and nothing else', async () => {
    await using server = await ground.open({ introspection: true });
    const { client } = server;
    const other = await client.watch('/api/v1/secrets', { watch: true });
    const stream = await client.watch(CONFIG_MAPS, { watch: true });
    const name = await eventually(async () => {
      const [shown] = await watchesOf(server, 'configmaps');
      expect(shown).toBeDefined();
      return shown!.metadata.name!;
    });
    const status = await client.delete(`${API}/watches/${name}`);
    expect(status).toMatchObject({ kind: 'Status', status: 'Success', details: { name, kind: 'watches' } });
    while (await stream.next()); // throws where the connection breaks
    await expect(client.delete(`${API}/watches/${name}`)).rejects.toSatisfy(is('NotFound'));
    await expect(client.get(`${API}/watches/${name}`)).rejects.toSatisfy(is('NotFound'));
    expect(await watchesOf(server, 'secrets')).toHaveLength(1);
    await other[Symbol.asyncDispose]();
  });

  it('a watcher that does not read shows how far behind it is, until it reads again', async () => {
    await using server = await ground.open({ introspection: true });
    const { client } = server;
    const stream = await client.watch(CONFIG_MAPS, { watch: true, resourceVersion: '0' });
    const bulk = 'x'.repeat(500_000);
    let written = 0;
    const stopped = await eventually(async () => {
      await client.create(CONFIG_MAPS, configMap(`bulk-${written++}`, { bulk }));
      const [shown] = await watchesOf(server, 'configmaps');
      expect(shown!.status.state).toBe('Behind');
      expect(shown!.status.behind.revisions).toBeGreaterThan(3);
      expect(shown!.status.behind.events).toBeGreaterThan(3);
      expect(shown!.status.behind.bytes).toBeGreaterThan(10_000);
      return shown!;
    });
    await eventually(async () => {
      const [shown] = await watchesOf(server, 'configmaps');
      expect(shown!.status.behind.seconds).toBeGreaterThanOrEqual(1);
      expect(shown!.status.lastRevision).toBe(stopped.status.lastRevision);
      const text = (await client.ask('GET', '/metrics')).body.toString();
      expect(text).toMatch(/longwatch_slow_watchers\{group="",resource="configmaps"\} 1\n/);
      expect(text).toMatch(/longwatch_watchers\{group="",resource="configmaps",state="behind"\} 1\n/);
      expect(text).toMatch(/longwatch_watch_unread_bytes\{group="",resource="configmaps"\} [1-9]/);
      const [, slow] = /longwatch_watch_lag_seconds_count\{group="",resource="configmaps"\} (\d+)/.exec(text) ?? [];
      const [, fast] =
        /longwatch_watch_lag_seconds_bucket\{group="",resource="configmaps",le="1"\} (\d+)/.exec(text) ?? [];
      expect(Number(slow)).toBeGreaterThan(Number(fast));
    });
    await stream.until(({ object }) => object.metadata.name === `bulk-${written - 1}`);
    await eventually(async () => {
      const [shown] = await watchesOf(server, 'configmaps');
      expect(shown!.status).toMatchObject({ state: 'Live', behind: { revisions: 0, seconds: 0 } });
      expect(shown!.status.bytesSent).toBeGreaterThan(written * 500_000);
    });
    const text = (await client.ask('GET', '/metrics')).body.toString();
    expect(text).toMatch(/longwatch_watch_sent_events_total\{group="",resource="configmaps"\} [1-9]/);
    expect(text).toMatch(/apiserver_watch_events_total\{group="",version="v1",resource="configmaps"\} [1-9]/);
    expect(text).toMatch(/\nwatch_cache_capacity\{group="",resource="configmaps"\} [1-9]/);
    expect(text).toMatch(/apiserver_storage_objects\{resource="clusterroles.rbac.authorization.k8s.io"\} [1-9]/);
    await stream[Symbol.asyncDispose]();
  });

  it('a 410 after compaction is an object with its reason, a line in the log, and a count', async () => {
    await using server = await ground.open({ introspection: true });
    await server.client.create(CONFIG_MAPS, configMap('a', { k: '1' }));
    await server.client.update(`${CONFIG_MAPS}/a`, configMap('a', { k: '2' }));
    const page = await server.client.list('/api/v1/configmaps', { limit: 1 });
    await server.client.update(`${CONFIG_MAPS}/a`, configMap('a', { k: '3' }));
    const oldest = Number(await server.expireHistory());
    const stream = await server.client.watch(
      CONFIG_MAPS,
      { watch: true, resourceVersion: '2' },
      { headers: { 'User-Agent': 'too-late/1' } },
    );
    expect(await stream.take(1)).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
    expect(page.metadata.continue).toBeDefined();
    await expect(
      server.client.list('/api/v1/configmaps', { limit: 1, continue: page.metadata.continue! }),
    ).rejects.toSatisfy(is('Expired'));
    const [watch, list] = await eventually(async () => {
      const { items } = await server.client.list(`${API}/expirations`);
      expect(items).toHaveLength(2);
      if (ground.name === 'embedded') expect((items[1] as Shown).status).toHaveProperty('oldestRevision');
      return items as Shown[];
    });
    expect(watch).toMatchObject({
      spec: {
        user: 'kubernetes-admin',
        userAgent: 'too-late/1',
        verb: 'watch',
        resource: 'configmaps',
        namespace: 'default',
      },
      status: {
        askedRevision: 2,
        oldestRevision: oldest,
        reason: 'Compaction',
        message: expect.stringMatching(/^too old resource version: 2/),
      },
    });
    expect(watch!.status.explanation).toContain('compacted');
    expect(watch!.status.remedy).toContain('--auto-compaction-retention');
    expect(list).toMatchObject({
      spec: { verb: 'list', resource: 'configmaps' },
      status: { askedRevision: Number(page.metadata.resourceVersion), reason: 'Compaction' },
    });
    expect(list!.status.remedy).toContain('continue token');
    expect(server.logged.join('\n')).toMatch(
      /410 Gone: watch of configmaps in "default" by "kubernetes-admin" with "too-late\/1" from revision 2: too old resource version/,
    );
    const text = (await server.client.ask('GET', '/metrics')).body.toString();
    expect(text).toContain(
      'longwatch_expirations_total{group="",resource="configmaps",verb="watch",reason="compaction"} 1',
    );
  });

  it('a history tells what changed when and by whom, the difference, and the object as it was', async () => {
    await using server = await ground.open({ introspection: true });
    const { client } = server;
    const created = await client.create(CONFIG_MAPS, configMap('a', { k: '1' }));
    await client.create(CONFIG_MAPS, configMap('b', {}));
    const updated = await client.update(`${CONFIG_MAPS}/a`, configMap('a', { k: '2', 'odd.key': 'x' }));
    const revisions = [updated, created].map(({ metadata }) => Number(metadata.resourceVersion));
    const path = `${API}/namespaces/default/objecthistories/configmaps:a`;
    const history = (await client.get(path)) as Shown;
    expect(history).toMatchObject({
      kind: 'ObjectHistory',
      metadata: { name: 'configmaps:a', namespace: 'default' },
      spec: { resource: 'configmaps', kind: 'ConfigMap', name: 'a' },
      status: {
        exists: true,
        isComplete: true,
        revisions: [
          {
            revision: revisions[0],
            change: 'Updated',
            user: 'kubernetes-admin',
            time: expect.any(String),
            changed: ['data.k', 'data["odd.key"]'],
            changedCount: 2,
          },
          { revision: revisions[1], change: 'Created', user: 'kubernetes-admin', changed: [] },
        ],
      },
    });
    expect(await client.get(path, { diff: `${revisions[1]},${revisions[0]}` })).toMatchObject({
      diff: {
        changes: [
          { path: 'data.k', from: '1', to: '2' },
          { path: 'data["odd.key"]', to: 'x' },
        ],
        isTruncated: false,
      },
    });
    expect(await client.get(path, { revision: revisions[1]! })).toMatchObject({
      object: { kind: 'ConfigMap', data: { k: '1' } },
    });
    await client.delete(`${CONFIG_MAPS}/a`);
    const again = await client.create(CONFIG_MAPS, configMap('a', { k: '3' }));
    const whole = (await client.get(path)) as Shown;
    expect((whole.status.revisions as JsonObject[]).map(({ change }) => change)).toEqual([
      'Created',
      'Deleted',
      'Updated',
      'Created',
    ]);
    expect((await client.get(path, { limit: 1 })) as Shown).toMatchObject({
      status: { isComplete: false, revisions: [{ revision: Number(again.metadata.resourceVersion) }] },
    });
    for (const query of [{ revision: 'x' }, { diff: '1' }, { revision: 1_000_000_000 }])
      await expect(client.get(path, query)).rejects.toSatisfy(is('BadRequest'));
    for (const name of ['configmaps:none', 'widgets:a'])
      await expect(client.get(`${API}/namespaces/default/objecthistories/${name}`)).rejects.toSatisfy(is('NotFound'));
    await server.expireHistory();
    const kept = (await server.client.get(path)) as Shown;
    expect((kept.status.revisions as JsonObject[]).map(({ change }) => change)).toEqual(['Kept']);
    await expect(server.client.get(path, { revision: revisions[1]! })).rejects.toSatisfy(is('Expired'));
  });
});

it('who may not read an object does not learn of its history, nor who may not look', async () => {
  await using server = await startTestServer({ introspection: true });
  const { client } = server;
  await client.create('/api/v1/namespaces/default/secrets', {
    metadata: { name: 's' },
    stringData: { password: 'hidden' },
  });
  const role = (name: string, rules: object[]) =>
    client.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', { metadata: { name }, rules });
  await role('histories', [
    { apiGroups: ['introspection.longwatch.dev'], resources: ['objecthistories'], verbs: ['get'] },
  ]);
  const bind = (user: string, name: string) =>
    client.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: `${user}-${name}` },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
      roleRef: { kind: 'Role', apiGroup: 'rbac.authorization.k8s.io', name },
    });
  await bind('alice', 'histories');
  const path = `${API}/namespaces/default/objecthistories/secrets:s`;
  const as = (user: string, at: string) => client.ask('GET', at, { headers: { 'Impersonate-User': user } });
  await eventually(async () => {
    const { status, body } = await as('alice', path);
    expect(status).toBe(403);
    expect(JSON.parse(body.toString()).message).toMatch(
      /^secrets "s" is forbidden: User "alice" cannot get resource "secrets"/,
    );
  });
  expect((await as('bob', path)).status).toBe(403);
  expect((await as('alice', `${API}/watches`)).status).toBe(403);
  await role('secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
  await bind('alice', 'secrets');
  await eventually(async () => expect((await as('alice', path)).status).toBe(200));
});

it('controllers that follow everything that can be deleted do not follow what the server tells of itself', async () => {
  await using server = await startTestServer({ introspection: true, controllers: ['garbage-collector-controller'] });
  const { items } = await server.client.list(`${API}/watches`);
  const collector = (items as Shown[]).filter(({ spec }) => String(spec.user).endsWith(':generic-garbage-collector'));
  const followed = collector.map(({ spec }) => spec.group);
  expect(followed).toContain('apps');
  expect(followed).not.toContain('introspection.longwatch.dev');
});

it('a version of another history is an expiration of that reason', async () => {
  await using server = await startTestServer({ introspection: true });
  const { headers } = await server.client.ask('GET', CONFIG_MAPS);
  const name = String(headers['longwatch-history']);
  await server.loseData();
  const query = { watch: true, resourceVersion: '1000' };
  const asked = server.client.watch(CONFIG_MAPS, query, { headers: { 'Longwatch-History': name } });
  await expect(asked).rejects.toSatisfy(is('Expired'));
  await eventually(async () => {
    const { items } = await server.client.list(`${API}/expirations`, { fieldSelector: 'status.reason=History' });
    expect(items).toMatchObject([
      {
        spec: { verb: 'watch' },
        status: { askedRevision: 1000, explanation: expect.stringContaining('another history') },
      },
    ]);
  });
});

it('what is not stored has no history but its window, and says so', async () => {
  await using server = await startTestServer({ introspection: true });
  const { client } = server;
  const stream = await client.watch(`${API}/watchcaches`, { watch: true, resourceVersion: '5' });
  expect(await stream.take(1)).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  const exact = { resourceVersion: '5', resourceVersionMatch: 'Exact' };
  await expect(client.list(`${API}/watchcaches`, exact)).rejects.toSatisfy(is('Expired'));
  const { items } = await client.list(`${API}/expirations`);
  expect(items).toMatchObject([
    { spec: { verb: 'watch', resource: 'watchcaches' }, status: { askedRevision: 5, reason: 'Window' } },
    { spec: { verb: 'list', resource: 'watchcaches' }, status: { askedRevision: 5, reason: 'Window' } },
  ]);
});

it('without --introspection there is no such group', async () => {
  await using server = await startTestServer();
  expect((await server.client.ask('GET', API)).status).toBe(404);
  expect((await server.client.ask('GET', `${API}/watches`)).status).toBe(404);
});

it('no definition takes the place of what the server tells of itself', async () => {
  await using server = await startTestServer({ introspection: true });
  const { client } = server;
  const group = 'introspection.longwatch.dev';
  const name = `watches.${group}`;
  await client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'watches', singular: 'other', kind: 'Other' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });
  await eventually(async () => {
    const crd = await client.get(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
    const { conditions } = crd.status as { conditions: { type: string; status: string }[] };
    expect(conditions.find(({ type }) => type === 'NamesAccepted')).toMatchObject({ status: 'False' });
  });
  expect(await client.list(`${API}/watches`)).toMatchObject({ kind: 'WatchList' });
  await client.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  expect(await client.list(`${API}/watches`)).toMatchObject({ kind: 'WatchList' });
});
