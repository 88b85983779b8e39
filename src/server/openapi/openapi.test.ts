import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { Reader } from '../../api/protobuf.ts';
import { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { OpenApi } from './openapi.ts';
import { documentForm } from './v3-document.ts';

type Answer = { status: number; type: string; body: Buffer; headers: Readonly<Record<string, string>> };

function ask(openApi: OpenApi, url: string, headers: Record<string, string> = {}): Answer | undefined {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  let answer: Answer | undefined;
  const context = {
    method: 'GET',
    path: pathname,
    query: searchParams,
    headers,
    send: (status: number, type: string, body: Buffer, more = {}) => {
      answer = { status, type, body, headers: more };
    },
  };
  expect(openApi.handle(context as unknown as RequestContext)).toBe(answer !== undefined);
  return answer;
}

const read = (answer: Answer | undefined) => JSON.parse(String(answer?.body));
const urlOf = (openApi: OpenApi, name: string) => read(ask(openApi, '/openapi/v3')).paths[name]?.serverRelativeURL;

function widgets(overrides: Partial<Resource> = {}): Resource {
  return {
    group: 'example.io',
    version: 'v1',
    groupVersion: 'example.io/v1',
    plural: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    isNamespaced: true,
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [{ name: 'status', verbs: ['get', 'patch', 'update'], kind: 'Widget' }],
    schema: builtInSchemas().custom({ type: 'object' }),
    isCustom: true,
    openApi: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { size: { type: 'integer', minimum: 1, nullable: true } } },
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
      },
    },
    ...overrides,
  };
}

describe('the documents of a group version', () => {
  const openApi = new OpenApi({ registry: new Registry() });
  const apps = read(ask(openApi, '/openapi/v3/apis/apps/v1'));
  const object = '/apis/apps/v1/namespaces/{namespace}/deployments/{name}';

  it('tell kubectl that the server validates fields, and which patches it takes', () => {
    const { patch } = apps.paths[object];
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' });
    expect(patch.parameters.map(({ name }: { name: string }) => name)).toContain('fieldValidation');
    expect(Object.keys(patch.requestBody.content)).toContain('application/strategic-merge-patch+json');
  });

  it('have a patch with fieldValidation for every kind that can be patched', () => {
    const registry = new Registry();
    for (const { group, versions } of registry.groups())
      for (const version of versions) {
        const url = group === '' ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`;
        const items: { patch?: Record<string, unknown> }[] = Object.values(read(ask(openApi, url)).paths);
        const kinds = items.flatMap(({ patch }) =>
          JSON.stringify(patch?.parameters ?? []).includes('"fieldValidation"')
            ? [patch?.['x-kubernetes-group-version-kind']]
            : [],
        );
        for (const { kind, verbs } of registry.resourcesOf(group, version))
          if (verbs.includes('patch')) expect(kinds).toContainEqual({ group, version, kind });
      }
  });

  it('mark types with their kinds, and keep what merging needs', () => {
    const schemas = apps.components.schemas;
    expect(schemas['io.k8s.api.apps.v1.Deployment']).toMatchObject({
      properties: {
        spec: { default: {}, allOf: [{ $ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec' }] },
      },
      'x-kubernetes-group-version-kind': [{ group: 'apps', kind: 'Deployment', version: 'v1' }],
    });
    expect(schemas['io.k8s.api.core.v1.PodSpec'].properties.containers).toMatchObject({
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-patch-strategy': 'merge',
    });
  });

  it('hold every type they name, and no others', () => {
    const names = Object.keys(apps.components.schemas);
    const text = JSON.stringify(apps);
    const used = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
    expect(names.filter((name) => !used.has(name))).toEqual([]);
    expect([...used].filter((name) => !names.includes(name!))).toEqual([]);
    expect(names).not.toContain('io.k8s.api.batch.v1.Job');
  });

  it('give every operation an id of its own', () => {
    for (const url of ['/openapi/v3/api/v1', '/openapi/v3/apis/apps/v1']) {
      const ids = [...String(ask(openApi, url)?.body).matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
      expect(ids).toEqual([...new Set(ids)]);
    }
  });

  it('have a new form number when they change, for clients keep them by it', () => {
    const digest = createHash('sha256');
    for (const name of Object.keys(read(ask(openApi, '/openapi/v3')).paths))
      digest.update(ask(openApi, `/openapi/v3/${name}`)!.body);
    digest.update(ask(openApi, '/openapi/v2')!.body);
    expect({ documentForm, digest: digest.digest('hex').slice(0, 16) }).toEqual({
      documentForm: 4,
      digest: 'f44d2874f1fe2fee',
    });
  });
});

describe('OpenApi', () => {
  const openApi = new OpenApi({ registry: new Registry() });

  it('lets a document be kept under its hash, and only there', () => {
    const url = urlOf(openApi, 'apis/apps/v1');
    expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/);
    const kept = ask(openApi, `${url}&timeout=32s`);
    expect(kept?.headers).toMatchObject({ 'Cache-Control': 'public, immutable', Vary: 'Accept' });
    expect(ask(openApi, '/openapi/v3/apis/apps/v1')?.headers['Cache-Control']).toBe('no-cache, private');
    expect(ask(openApi, '/openapi/v3/apis/apps/v1?hash=00')).toMatchObject({ status: 301, headers: { Location: url } });
    expect(ask(openApi, url, { 'if-none-match': kept?.headers.ETag ?? '' })?.status).toBe(304);
  });

  it('knows the paths above group versions, and no others', () => {
    for (const name of ['api', 'apis', 'apis/apps', 'version'])
      expect(ask(openApi, urlOf(openApi, name))?.status).toBe(200);
    expect(ask(openApi, '/openapi/v3/apis/none.example.com/v1')).toMatchObject({ status: 404, type: '' });
    expect(ask(openApi, '/openapi')).toBeUndefined();
    expect(ask(openApi, '/openapi/v3/api/v1', { accept: 'text/html' })?.status).toBe(406);
  });

  it('publishes custom kinds, and a new hash for their group version only', () => {
    const registry = new Registry();
    const changing = new OpenApi({ registry });
    const before = urlOf(changing, 'apis/apps/v1');
    registry.add(widgets());
    const url = urlOf(changing, 'apis/example.io/v1');
    const { paths, components } = read(ask(changing, url));
    expect(components.schemas['io.example.v1.Widget']).toMatchObject({
      properties: {
        metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] },
        spec: { properties: { size: { type: 'integer', minimum: 1, nullable: true } } },
      },
      'x-kubernetes-group-version-kind': [{ group: 'example.io', kind: 'Widget', version: 'v1' }],
    });
    const list = components.schemas['io.example.v1.WidgetList'];
    expect(list.required).toEqual(['items']);
    for (const field of ['apiVersion', 'kind', 'metadata'])
      expect(list.properties[field].description, field).toMatch(/^\w+ .+/);
    expect(Object.keys(paths)).not.toContain('/apis/example.io/v1/');
    expect(urlOf(changing, 'apis/example.io')).toBeUndefined();
    expect(urlOf(changing, 'apis/apps')).toBeDefined();
    const { patch } = paths['/apis/example.io/v1/namespaces/{namespace}/widgets/{name}/status'];
    expect(Object.keys(patch.requestBody.content)).not.toContain('application/strategic-merge-patch+json');

    registry.add(widgets({ openApi: { type: 'object' } }));
    expect(urlOf(changing, 'apis/example.io/v1')).not.toBe(url);
    expect(urlOf(changing, 'apis/apps/v1')).toBe(before);
    registry.remove(widgets());
    expect(urlOf(changing, 'apis/example.io/v1')).toBeUndefined();
  });

  it('says in version 2 what version 2 can say', () => {
    const registry = new Registry();
    registry.add(widgets());
    const answer = ask(new OpenApi({ registry }), '/openapi/v2');
    const { swagger, definitions, paths } = read(answer);
    expect(swagger).toBe('2.0');
    const { spec, status } = definitions['io.example.v1.Widget'].properties;
    expect(spec.properties.size).toEqual({ minimum: 1 });
    expect(status).toEqual({ 'x-kubernetes-preserve-unknown-fields': true });
    expect(definitions['io.k8s.apimachinery.pkg.api.resource.Quantity']).toMatchObject({ type: 'string' });
    expect(paths['/api/v1/nodes/{name}'].patch.consumes).toContain('application/strategic-merge-patch+json');
    expect(String(answer?.body)).not.toContain('components/schemas');
  });

  const open = { 'x-kubernetes-preserve-unknown-fields': true };
  const mark = { 'x-kubernetes-group-version-kind': [{ group: 'example.io', kind: 'Widget', version: 'v1' }] };
  const publish = (openApi: JsonObject, path: '/openapi/v2' | '/openapi/v3/apis/example.io/v1') => {
    const registry = new Registry();
    registry.add(widgets({ openApi }));
    const document = read(ask(new OpenApi({ registry }), path));
    return (document.definitions ?? document.components.schemas)['io.example.v1.Widget'];
  };

  it('says nothing in version 2 of fields of a kind that keeps unknown ones', () => {
    const schema = { type: 'object', ...open, properties: { spec: { type: 'object' } } };
    expect(publish(schema, '/openapi/v2')).toEqual({ type: 'object', ...mark });
    expect(publish(schema, '/openapi/v3/apis/example.io/v1')).toMatchObject({
      properties: { spec: {}, kind: {} },
      ...open,
    });
  });

  it.each<[claim: string, schema: JsonObject, v2: JsonObject]>([
    ['an open list', { type: 'array', items: { type: 'string' }, ...open }, open],
    [
      'open values',
      { type: 'object', additionalProperties: { type: 'object', ...open } },
      { type: 'object', additionalProperties: open },
    ],
    [
      'a nullable map',
      { type: 'object', nullable: true, additionalProperties: { type: 'string' } },
      { additionalProperties: { type: 'string' } },
    ],
    [
      'required fields that may be null',
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { type: 'string', nullable: true }, b: { type: 'string' } },
      },
      { type: 'object', required: ['b'], properties: { a: {}, b: { type: 'string' } } },
    ],
    [
      'an open embedded object',
      { type: 'object', 'x-kubernetes-embedded-resource': true, ...open },
      { 'x-kubernetes-embedded-resource': true, ...open },
    ],
  ])('shows in version 2 %s', (_claim, schema, v2) => {
    expect(publish({ type: 'object', properties: { spec: schema } }, '/openapi/v2').properties.spec).toEqual(v2);
  });

  it.each(['/openapi/v2', '/openapi/v3/apis/example.io/v1'] as const)(
    'shows in %s what an embedded object is',
    (path) => {
      const spec = {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        required: ['kind'],
        properties: { a: { type: 'string' } },
      };
      const shown = publish({ type: 'object', properties: { spec } }, path).properties.spec;
      expect(shown.required).toEqual(['kind', 'apiVersion']);
      expect(Object.keys(shown.properties)).toEqual(['a', 'apiVersion', 'kind', 'metadata']);
    },
  );

  it('writes version 2 in protobuf for the clients that take nothing else', () => {
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const answer = ask(openApi, '/openapi/v2', { accept });
    expect(answer?.type).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    const definitions = read(ask(openApi, '/openapi/v2')).definitions;
    const names: string[] = [];
    const reader = new Reader(answer!.body);
    while (reader.hasMore) {
      const tag = reader.tag();
      if (tag >> 3 !== 9) {
        reader.skip(tag);
        continue;
      }
      const outer = reader.enter();
      while (reader.hasMore) {
        reader.tag();
        const pair = reader.enter();
        reader.tag();
        names.push(reader.string());
        reader.leave(pair);
      }
      reader.leave(outer);
    }
    expect(names).toEqual(Object.keys(definitions));
  });
});
