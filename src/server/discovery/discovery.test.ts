import { describe, expect, it } from 'vitest';
import { Registry } from '../registry/registry.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { Discovery } from './discovery.ts';
import { aggregatedType, chooseForm } from './discovery-form.ts';

type Answer = { status: number; type: string; body: Buffer; headers: Readonly<Record<string, string>> };

function ask(discovery: Discovery, path: string, headers: Record<string, string> = {}, method = 'GET') {
  let answer: Answer | undefined;
  const context = {
    method,
    path,
    headers: { host: '127.0.0.1:6443', ...headers },
    send: (status: number, type: string, body: Buffer, more = {}) => {
      answer = { status, type, body, headers: more };
    },
  };
  const isHandled = discovery.handle(context as unknown as RequestContext);
  expect(isHandled).toBe(answer !== undefined);
  return answer;
}

const read = (answer: Answer | undefined) => JSON.parse(String(answer?.body));
const std = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const foos: Resource = {
  group: 'example.com',
  version: 'v1',
  groupVersion: 'example.com/v1',
  plural: 'foos',
  singular: 'foo',
  kind: 'Foo',
  listKind: 'FooList',
  isNamespaced: true,
  verbs: std,
  shortNames: [],
  categories: [],
  subresources: [
    { name: 'scale', verbs: ['get', 'patch', 'update'], kind: 'Scale', group: 'autoscaling', version: 'v1' },
  ],
  schema: builtInSchemas().custom({ type: 'object' }),
  isCustom: true,
};

describe('Discovery', () => {
  const discovery = new Discovery({ registry: new Registry() });

  it('lists versions, groups and resources as kube-apiserver does', () => {
    expect(read(ask(discovery, '/api'))).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:6443' }],
    });
    expect(read(ask(discovery, '/apis')).groups[5]).toEqual({
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    });
    expect(read(ask(discovery, '/apis/apps'))).toMatchObject({ kind: 'APIGroup', apiVersion: 'v1', name: 'apps' });
    const core = read(ask(discovery, '/api/v1'));
    expect(Object.keys(core)).toEqual(['kind', 'groupVersion', 'resources']);
    expect(core.resources.find(({ name }: { name: string }) => name === 'configmaps')).toEqual({
      name: 'configmaps',
      singularName: 'configmap',
      namespaced: true,
      kind: 'ConfigMap',
      verbs: std,
      shortNames: ['cm'],
      storageVersionHash: 'qFsyl6wFWjQ=',
    });
  });

  it('says of a subresource what it takes, and of resources with the same objects the same hash', () => {
    const { apiVersion, resources } = read(ask(discovery, '/apis/apps/v1'));
    expect(apiVersion).toBe('v1');
    expect(resources.find(({ name }: { name: string }) => name === 'deployments/scale')).toEqual({
      name: 'deployments/scale',
      singularName: '',
      namespaced: true,
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: ['get', 'patch', 'update'],
    });
    expect(read(ask(discovery, '/apis/events.k8s.io/v1')).resources[0].storageVersionHash).toBe('r2yiGXH7wu8=');
    expect(read(ask(discovery, '/apis/authorization.k8s.io/v1')).resources[0]).not.toHaveProperty('storageVersionHash');
  });

  it('answers both roots in the new form, core apart from the rest', () => {
    const api = ask(discovery, '/api', { accept: aggregatedType });
    expect(api).toMatchObject({
      status: 200,
      type: aggregatedType,
      headers: { Vary: 'Accept', 'Cache-Control': 'public' },
    });
    expect(read(api).items.map(({ metadata }: { metadata: object }) => metadata)).toEqual([{}]);
    const { kind, apiVersion, items } = read(ask(discovery, '/apis', { accept: aggregatedType }));
    expect([kind, apiVersion]).toEqual(['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2']);
    const [apps] = items.filter(({ metadata }: { metadata: { name: string } }) => metadata.name === 'apps');
    expect(apps.versions[0].freshness).toBe('Current');
    expect(apps.versions[0].resources[2]).toEqual({
      resource: 'deployments',
      responseKind: { group: '', version: '', kind: 'Deployment' },
      scope: 'Namespaced',
      singularResource: 'deployment',
      verbs: std,
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [
        {
          subresource: 'scale',
          responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          verbs: ['get', 'patch', 'update'],
        },
        {
          subresource: 'status',
          responseKind: { group: '', version: '', kind: 'Deployment' },
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
  });

  it('answers 304 to who has the document already, until the registry changes', () => {
    const registry = new Registry();
    const changing = new Discovery({ registry });
    const etag = ask(changing, '/apis', { accept: aggregatedType })?.headers.ETag ?? '';
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    const again = { accept: aggregatedType, 'if-none-match': etag };
    expect(ask(changing, '/apis', again)).toMatchObject({ status: 304, type: '', body: Buffer.alloc(0) });
    registry.add(foos);
    const changed = ask(changing, '/apis', again);
    expect(changed?.status).toBe(200);
    expect(read(changed).items.at(-1)).toMatchObject({ metadata: { name: 'example.com' } });
    expect(read(ask(changing, '/apis/example.com/v1')).resources[1]).toMatchObject({
      name: 'foos/scale',
      kind: 'Scale',
    });
    registry.remove(foos);
    expect(ask(changing, '/apis/example.com')).toBeUndefined();
    expect(ask(changing, '/apis', again)?.status).toBe(304);
  });

  it('takes a trailing slash', () => {
    for (const path of ['/api', '/apis', '/apis/apps', '/apis/apps/v1', '/version'])
      expect(ask(discovery, `${path}/`)?.body, path).toEqual(ask(discovery, path)?.body);
  });

  it.each([
    ['/apis/none.example.com'],
    ['/apis/none.example.com/v1'],
    ['/api/v1/pods'],
    ['/apis/apps/v1/deployments'],
    ['/healthz'],
    ['/apis//v1'],
  ])('leaves %s to others', (path) => expect(ask(discovery, path)).toBeUndefined());

  it('knows that a built-in group has no such version', () => {
    for (const path of ['/api/v2', '/apis/apps/v9'])
      expect(() => ask(discovery, path)).toThrow('the server could not find the requested resource');
  });

  it('refuses other methods and other media types', () => {
    for (const path of ['/api', '/api/v1', '/version'])
      expect(() => ask(discovery, path, {}, 'POST')).toThrow('the server does not allow this method');
    for (const [path, accept] of [
      ['/apis', 'text/html'],
      ['/api/v1', aggregatedType],
    ] as const)
      expect(() => ask(discovery, path, { accept })).toThrow('only the following media types are accepted');
  });

  it('tells its version and its paths', () => {
    expect(read(ask(discovery, '/version'))).toMatchObject({ major: '1', minor: '36' });
    expect(read(ask(discovery, '/version')).gitVersion).toMatch(/^v1\.36\.\d+/);
    const { paths } = read(ask(discovery, '/'));
    expect(paths).toEqual(expect.arrayContaining(['/api', '/api/v1', '/apis/apps/v1', '/openapi/v3', '/version']));
    expect(paths).toEqual([...paths].sort());
  });
});

const beta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

it.each<[accept: string | undefined, want: ReturnType<typeof chooseForm>]>([
  [undefined, 'legacy'],
  ['*/*', 'legacy'],
  ['application/json', 'legacy'],
  ['application/vnd.kubernetes.protobuf, */*', 'legacy'],
  [`${aggregatedType},${beta},application/json`, 'aggregated'],
  [`application/json,${aggregatedType}`, 'aggregated'],
  [`application/json,${aggregatedType};q=0.5`, 'legacy'],
  [`${beta},application/json`, 'legacy'],
  [beta, undefined],
  ['text/html', undefined],
  ['application/json;q=0', undefined],
])('chooseForm() answers %s with %s', (accept, want) => expect(chooseForm(accept, true)).toBe(want));
