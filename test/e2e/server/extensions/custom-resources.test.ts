/** Kinds that users bring themselves: served as soon as they are defined, kept as they say, gone when they go. */
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../../src/api/index.ts';
import type { ApiClient } from '../../../../src/testing/index.ts';
import { onEtcd, onEveryGround } from '../../../support/server/grounds.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const WIDGETS = '/apis/ex.io/v1/namespaces/default/widgets';
const SERVED_WITHIN_MS = 5000;

const widgetSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 10 },
        color: { type: 'string', default: 'red' },
        replicas: { type: 'integer' },
      },
      'x-kubernetes-validations': [{ rule: '!has(self.size) || self.size != 7', message: 'seven is taken' }],
    },
    status: { type: 'object', properties: { phase: { type: 'string' }, replicas: { type: 'integer' } } },
  },
};

const version = {
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: widgetSchema },
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
  selectableFields: [{ jsonPath: '.spec.color' }],
};

function widgetCrd(more: JsonObject = {}): JsonObject & { metadata: { name: string } } {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.ex.io' },
    spec: {
      group: 'ex.io',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      versions: [version],
      ...more,
    },
  };
}

function widget(name: string, spec: JsonObject = { size: 1 }, apiVersion = 'ex.io/v1'): JsonObject {
  return { apiVersion, kind: 'Widget', metadata: { name }, spec };
}

/** Asks again until the answer fits. */
async function eventually(
  client: ApiClient,
  path: string,
  fits: (status: number, body: string) => boolean,
): Promise<void> {
  for (const until = Date.now() + SERVED_WITHIN_MS; ; ) {
    const { status, body } = await client.ask('GET', path);
    if (fits(status, body.toString())) return;
    if (Date.now() > until) throw new Error(`${path} is still ${status} ${body.toString().slice(0, 300)}`);
  }
}

async function install(client: ApiClient, definition: { metadata: { name: string } } = widgetCrd()): Promise<void> {
  await client.create(CRDS, definition);
  await eventually(client, `${CRDS}/${definition.metadata.name}`, (_status, body) => isEstablished(JSON.parse(body)));
}

function isEstablished({ status }: KubeObject): boolean {
  const { conditions } = status as { conditions: { type: string; status: string }[] | null };
  return (conditions ?? []).some((one) => one.type === 'Established' && one.status === 'True');
}

onEveryGround((ground) => {
  it('a kind is served once it is defined, with its schema, defaults and rules', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    const created = await client.create(WIDGETS, widget('a', { size: 3, unknown: true }));
    expect(created.spec).toEqual({ size: 3, color: 'red' });
    expect(created.metadata.generation).toBe(1);
    await expect(client.create(WIDGETS, widget('b', { size: 11 }))).rejects.toMatchObject({
      message: expect.stringContaining('spec.size in body should be less than or equal to 10'),
    });
    await expect(client.create(WIDGETS, widget('b', { size: 7 }))).rejects.toThrow(
      'spec: Invalid value: seven is taken',
    );
    const discovered = await client.ask('GET', '/apis/ex.io/v1');
    const { resources } = JSON.parse(discovered.body.toString()) as {
      resources: { name: string; shortNames?: string[] }[];
    };
    expect(resources.map(({ name }) => name)).toEqual(['widgets', 'widgets/status', 'widgets/scale']);
    const openApi = await client.ask('GET', '/openapi/v3/apis/ex.io/v1');
    expect(JSON.parse(openApi.body.toString()).components.schemas['io.ex.v1.Widget'].properties.spec).toBeDefined();
  });

  it('status and scale are written apart from the object', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    const created = await client.create(WIDGETS, { ...widget('a', { replicas: 2 }), status: { phase: 'Sent' } });
    expect(created.status).toBeUndefined();
    const done = await client.patch(`${WIDGETS}/a/status`, {
      spec: { replicas: 9 },
      status: { phase: 'Ready', replicas: 1 },
    });
    expect(done).toMatchObject({ spec: { replicas: 2 }, status: { phase: 'Ready' }, metadata: { generation: 1 } });
    const scale = await client.get(`${WIDGETS}/a/scale`);
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 1 } });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = JSON.parse((await client.ask('GET', `${WIDGETS}/a/scale`, { headers: { accept } })).body.toString());
    expect(table.columnDefinitions[0]).toMatchObject({ name: 'Name', format: 'name' }); // as of the kind itself
    expect(table.rows).toMatchObject([{ cells: ['a', null], object: { metadata: { name: 'a' } } }]);
    await client.update(`${WIDGETS}/a/scale`, { ...scale, spec: { replicas: 5 } });
    expect(await client.get(`${WIDGETS}/a`)).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } });
    await expect(client.patch(`${WIDGETS}/a/scale`, { spec: { replicas: -1 } })).rejects.toThrow('non-negative');
  });

  it('an object without a count is scaled by whoever says one', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    await client.create(WIDGETS, widget('a'));
    const at = `${WIDGETS}/a/scale`;
    await expect(client.get(at)).rejects.toMatchObject({ code: 500, status: { reason: 'InternalError' } });
    await expect(client.patch(at, { metadata: {} })).rejects.toMatchObject({
      code: 400,
      message: 'the spec replicas field ".spec.replicas" cannot be empty',
    });
    expect(await client.patch(at, { spec: { replicas: 3 } })).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } });
    await client.create(WIDGETS, widget('b'));
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'b' }, spec: { replicas: 2 } };
    expect(await client.update(`${WIDGETS}/b/scale`, scale)).toMatchObject({ spec: { replicas: 2 } });
  });

  it('fields are applied on the server, and others keep theirs', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const apply = (manager: string, spec: JsonObject) =>
      client.ask('PATCH', `${WIDGETS}/a`, { query: { fieldManager: manager }, headers, body: widget('a', spec) });
    expect((await apply('one', { size: 2 })).status).toBe(201);
    expect((await apply('two', { color: 'blue' })).status).toBe(200);
    expect((await apply('two', { color: 'blue', size: 3 })).status).toBe(409);
    expect(await client.get(`${WIDGETS}/a`)).toMatchObject({ spec: { size: 2, color: 'blue' } });
    expect((await apply('one', { size: 7 })).status).toBe(422);
  });

  it('a selectable field selects, and columns are shown', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    await client.create(WIDGETS, widget('a', { size: 1, color: 'blue' }));
    await client.create(WIDGETS, widget('b', { size: 2 }));
    const { items } = await client.list(WIDGETS, { fieldSelector: 'spec.color=blue' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a']);
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const table = JSON.parse((await client.ask('GET', WIDGETS, { headers })).body.toString());
    expect(table.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Size']);
    expect(table.rows.map(({ cells }: { cells: unknown[] }) => cells)).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
  });

  it('each version has selectable fields of its own, whichever of them is stored', async () => {
    await using server = await ground.open();
    const { client } = server;
    const sized = { ...version, name: 'v2', storage: false, selectableFields: [{ jsonPath: '.spec.size' }] };
    await install(client, widgetCrd({ versions: [version, sized] }));
    for (const size of [1, 2]) await client.create(WIDGETS, widget(`of-${size}`, { size }));
    const ofTwo = { fieldSelector: 'spec.size=2' };
    const SIZED = WIDGETS.replace('/v1/', '/v2/');
    expect((await client.list(SIZED, ofTwo)).items.map(({ metadata }) => metadata.name)).toEqual(['of-2']);
    await using watch = await client.watch(SIZED, ofTwo);
    expect((await watch.take(1)).map(({ object }) => object.metadata.name)).toEqual(['of-2']);
    for (const path of [WIDGETS, SIZED]) {
      const fieldSelector = path === SIZED ? 'spec.color=red' : 'spec.size=2';
      await expect(client.list(path, { fieldSelector })).rejects.toThrow('field label not supported');
    }
    await client.delete(SIZED, undefined, { fieldSelector: 'spec.size!=2' });
    expect((await client.list(SIZED)).items.map(({ metadata }) => metadata.name)).toEqual(['of-2']);
  });

  it('every served version shows the same objects, also after the stored version has changed', async () => {
    await using server = await ground.open();
    const { client } = server;
    const beta = { ...version, name: 'v1beta1', storage: false };
    await install(client, widgetCrd({ versions: [version, beta] }));
    await client.create(WIDGETS, widget('a'));
    const BETAS = WIDGETS.replace('/v1/', '/v1beta1/');
    expect(await client.get(`${BETAS}/a`)).toMatchObject({ apiVersion: 'ex.io/v1beta1', spec: { size: 1 } });
    await client.create(BETAS, widget('b', { size: 2 }, 'ex.io/v1beta1'));
    await using watch = await client.watch(BETAS);
    expect((await watch.take(2)).map(({ object }) => object.apiVersion)).toEqual(['ex.io/v1beta1', 'ex.io/v1beta1']);
    const open = watch.rest();
    const definition = await client.get(`${CRDS}/widgets.ex.io`);
    const versions = [
      { ...version, storage: false, served: false },
      { ...beta, storage: true },
    ];
    await client.update(`${CRDS}/widgets.ex.io`, {
      ...definition,
      spec: { ...(definition.spec as JsonObject), versions },
    });
    expect(await open).toEqual([]); // the watch ends, for its kind is not what it was
    await eventually(client, WIDGETS, (status) => status === 404);
    const { items } = await client.list(BETAS);
    expect(items.map(({ apiVersion, metadata }) => `${apiVersion} ${metadata.name}`)).toEqual([
      'ex.io/v1beta1 a',
      'ex.io/v1beta1 b',
    ]);
    const { status } = await client.get(`${CRDS}/widgets.ex.io`);
    expect((status as JsonObject).storedVersions).toEqual(['v1', 'v1beta1']);
  });

  it('a new default shows in old objects, and a change elsewhere does not judge them anew', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    const { metadata } = await client.create(WIDGETS, widget('a', { size: 9 }));
    const properties = {
      ...widgetSchema.properties.spec.properties,
      shape: { type: 'string', default: 'round' },
      size: { type: 'integer', maximum: 5 },
    };
    const schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
    const definition = await client.get(`${CRDS}/widgets.ex.io`);
    const changed = {
      ...(definition.spec as JsonObject),
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    };
    await client.update(`${CRDS}/widgets.ex.io`, { ...definition, spec: changed });
    await eventually(client, `${WIDGETS}/a`, (_status, body) => body.includes('round'));
    const read = await client.get(`${WIDGETS}/a`);
    expect(read.metadata.resourceVersion).toBe(metadata.resourceVersion);
    expect(await client.patch(`${WIDGETS}/a`, { spec: { color: 'blue' } })).toMatchObject({
      spec: { size: 9, color: 'blue' },
    });
    await expect(client.patch(`${WIDGETS}/a`, { spec: { size: 8 } })).rejects.toThrow('less than or equal to 5');
  });

  it('a definition takes its objects along, those that are held last, and then its watches end', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    await client.create(WIDGETS, widget('a'));
    await client.create(WIDGETS, { ...widget('held'), metadata: { name: 'held', finalizers: ['ex.io/hold'] } });
    await using watch = await client.watch(WIDGETS);
    await watch.take(2);
    const seen = watch.rest();
    const deleted = await client.delete(`${CRDS}/widgets.ex.io`);
    expect(deleted.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await eventually(client, `${WIDGETS}/a`, (status) => status === 404);
    await expect(client.create(WIDGETS, widget('late'))).rejects.toThrow(
      'create not allowed while custom resource definition is terminating',
    );
    await eventually(client, `${WIDGETS}/held`, (_status, body) => body.includes('deletionTimestamp'));
    await client.patch(`${WIDGETS}/held`, { metadata: { finalizers: null } });
    const events = (await seen).map(({ type, object }) => `${type} ${object.metadata.name}`);
    expect(events.slice(0, 2).sort()).toEqual(['DELETED a', 'MODIFIED held']); // asked at once, in any order
    expect(events.slice(2)).toEqual(['DELETED held']);
    await eventually(client, `${CRDS}/widgets.ex.io`, (status) => status === 404);
    const gone = await client.ask('GET', WIDGETS);
    expect([gone.status, gone.body.toString()]).toEqual([404, '404 page not found\n']);
    await install(client); // the name is free again, and nothing is left of the old objects
    expect((await client.list(WIDGETS)).items).toEqual([]);
  });

  it('every one of many held objects is asked to go', async () => {
    await using server = await ground.open();
    const client = server.connect({ protocol: 'http2' });
    await install(client);
    const names = Array.from({ length: 130 }, (_, i) => `held-${i}`);
    await Promise.all(
      names.map((name) => client.create(WIDGETS, { ...widget(name), metadata: { name, finalizers: ['ex.io/hold'] } })),
    );
    await client.delete(`${CRDS}/widgets.ex.io`);
    const isAsked = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;
    await eventually(client, WIDGETS, (_status, body) => (JSON.parse(body).items as KubeObject[]).every(isAsked));
    await Promise.all(names.map((name) => client.patch(`${WIDGETS}/${name}`, { metadata: { finalizers: null } })));
    await eventually(client, `${CRDS}/widgets.ex.io`, (status) => status === 404);
  });

  it('names that another kind of the group has are not served until they are free', async () => {
    await using server = await ground.open();
    const { client } = server;
    await install(client);
    const rival = {
      ...widgetCrd({ names: { plural: 'gadgets', kind: 'Gadget', shortNames: ['wd'] } }),
      metadata: { name: 'gadgets.ex.io' },
    };
    await client.create(CRDS, rival);
    await eventually(client, `${CRDS}/gadgets.ex.io`, (_status, body) => body.includes('ShortNamesConflict'));
    expect((await client.ask('GET', WIDGETS.replace('widgets', 'gadgets'))).status).toBe(404);
    await client.delete(`${CRDS}/widgets.ex.io`);
    await eventually(client, `${CRDS}/gadgets.ex.io`, (_status, body) => isEstablished(JSON.parse(body)));
    expect((await client.list(WIDGETS.replace('widgets', 'gadgets'))).items).toEqual([]);
  });

  it('what was defined is served again after a restart', async () => {
    await using server = await ground.open();
    await install(server.client);
    await server.client.create(WIDGETS, widget('a', { size: 4 }));
    await server.restart();
    expect(await server.client.get(`${WIDGETS}/a`)).toMatchObject({ spec: { size: 4, color: 'red' } });
    await expect(server.client.create(WIDGETS, widget('b', { size: 7 }))).rejects.toThrow('seven is taken');
  });

  it('a server without caches serves custom kinds as well', async () => {
    await using server = await ground.open({ watchCache: false });
    const { client } = server;
    await install(client);
    await client.create(WIDGETS, widget('a'));
    await using watch = await client.watch(WIDGETS);
    expect((await watch.next())?.object.metadata.name).toBe('a');
    const seen = watch.rest();
    await client.delete(`${CRDS}/widgets.ex.io`);
    expect((await seen).map(({ type }) => type)).toEqual(['DELETED']);
  });
});

onEtcd((ground) => {
  it('two servers on one store agree on what is served', async () => {
    await using first = await ground.open();
    const prefix = ground.rootOf(first);
    await using second = await ground.open({ etcd: { servers: ground.etcd().urls, prefix } });
    await install(first.client);
    await eventually(second.client, WIDGETS, (status) => status === 200);
    await second.client.create(WIDGETS, widget('a'));
    expect((await first.client.list(WIDGETS)).items).toHaveLength(1);
    await second.client.delete(`${CRDS}/widgets.ex.io`);
    await eventually(first.client, `${CRDS}/widgets.ex.io`, (status) => status === 404);
    await eventually(first.client, WIDGETS, (status) => status === 404);
    await eventually(second.client, WIDGETS, (status) => status === 404);
  });
});
