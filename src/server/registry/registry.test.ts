import { describe, expect, it } from 'vitest';
import { builtInTypes } from '../schema/built-in-types.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { factsOf, readField } from './kind-facts.ts';
import { kindTable } from './kind-table.ts';
import { Registry } from './registry.ts';
import { qualifiedName, type Resource } from './resource.ts';
import { compareVersions } from './version-order.ts';

function widget(overrides: Partial<Resource> = {}): Resource {
  const group = overrides.group ?? 'example.com';
  const version = overrides.version ?? 'v1';
  return {
    group,
    version,
    groupVersion: `${group}/${version}`,
    plural: 'widgets',
    singular: 'widget',
    kind: 'Widget',
    listKind: 'WidgetList',
    isNamespaced: true,
    verbs: ['get', 'list', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [],
    schema: builtInSchemas().custom({ type: 'object' }),
    isCustom: true,
    ...overrides,
  };
}

const byName = new Map([...new Registry().all()].map((resource) => [qualifiedName(resource), resource]));
const facts = (name: string) => factsOf(byName.get(name)!);

describe('Registry', () => {
  it('has the built-in resources by plural and by kind', () => {
    const registry = new Registry();
    const deployments = registry.find('apps', 'v1', 'deployments');
    expect(deployments).toMatchObject({ kind: 'Deployment', groupVersion: 'apps/v1', isNamespaced: true });
    expect(registry.findByKind('apps', 'v1', 'Deployment')).toBe(deployments);
    expect(registry.find('apps', 'v1beta1', 'deployments')).toBeUndefined();
    expect(deployments?.schema.name).toBe('io.k8s.api.apps.v1.Deployment');
    expect(registry.find('', 'v1', 'pods')?.groupVersion).toBe('v1');
  });

  it('keeps groups and versions in the order of kube-apiserver', () => {
    const groups = new Registry().groups();
    expect(groups.map(({ group, versions }) => ({ group, versions }))).toEqual(builtInTypes().groups);
    expect(new Registry().preferredVersion('autoscaling')).toBe('v2');
  });

  it('shows custom resources while they are there', () => {
    const registry = new Registry();
    let changes = 0;
    const stop = registry.onChange(() => changes++);
    expect(registry.isServed('example.com', 'v1')).toBe(false);
    registry.add(widget());
    registry.add(widget({ version: 'v1beta1' }));
    registry.add(widget({ group: 'a.example.com' }));
    expect(registry.group('example.com')).toEqual({
      group: 'example.com',
      versions: ['v1', 'v1beta1'],
      isCustom: true,
    });
    expect(
      registry
        .groups()
        .slice(-2)
        .map(({ group }) => group),
    ).toEqual(['a.example.com', 'example.com']);
    expect(registry.remove({ group: 'example.com', version: 'v1', plural: 'widgets' })).toBe(true);
    expect(registry.findByKind('example.com', 'v1', 'Widget')).toBeUndefined();
    expect(registry.preferredVersion('example.com')).toBe('v1beta1');
    expect([changes, registry.generation]).toEqual([4, 4]);
    stop();
    registry.remove({ group: 'example.com', version: 'v1beta1', plural: 'widgets' });
    expect(changes).toBe(4);
    expect(registry.isGroupServed('example.com')).toBe(false);
  });

  it('puts a resource in the place of its older self', () => {
    const registry = new Registry();
    registry.add(widget());
    registry.add(widget({ kind: 'Gadget' }));
    expect(registry.resourcesOf('example.com', 'v1').map(({ kind }) => kind)).toEqual(['Gadget']);
    expect(registry.findByKind('example.com', 'v1', 'Widget')).toBeUndefined();
  });

  it('lets go of no built-in resource', () => {
    const registry = new Registry();
    expect(registry.remove({ group: '', version: 'v1', plural: 'pods' })).toBe(false);
    expect(() => registry.add(widget({ group: 'apps', plural: 'deployments' }))).toThrow('it is built in');
  });
});

describe('the table of kinds', () => {
  it('names only resources that exist, and only fields that objects have', () => {
    for (const [name, row] of Object.entries(kindTable)) {
      const resource = byName.get(name);
      expect(resource, name).toBeDefined();
      for (const field of Object.values(row.fields ?? {})) {
        let schema = resource?.schema;
        for (const step of (typeof field === 'string' ? field : field.path).split('.'))
          schema = schema?.properties?.get(step);
        expect(schema, `${name} ${JSON.stringify(field)}`).toBeDefined();
      }
    }
  });

  it.each<[name: string, prefix: string]>([
    ['pods', 'pods'],
    ['nodes', 'minions'],
    ['services', 'services/specs'],
    ['endpoints', 'services/endpoints'],
    ['replicationcontrollers', 'controllers'],
    ['ingresses.networking.k8s.io', 'ingress'],
    ['deployments.apps', 'deployments'],
    ['events.events.k8s.io', 'events'],
    ['customresourcedefinitions.apiextensions.k8s.io', 'apiextensions.k8s.io/customresourcedefinitions'],
  ])('stores %s under %s', (name, prefix) => expect(facts(name).keyPrefix).toBe(prefix));

  it('stores one kind once, whatever it is served as', () => {
    expect(facts('events.events.k8s.io').storage).toEqual(facts('events').storage);
    const registry = new Registry();
    const stored = { group: 'autoscaling', version: 'v2', plural: 'horizontalpodautoscalers' };
    for (const version of ['v1', 'v2'])
      expect(factsOf(registry.find('autoscaling', version, 'horizontalpodautoscalers')!).storage).toMatchObject(stored);
    const prefixes = new Map<string, string>();
    for (const resource of registry.all()) {
      const { keyPrefix, storage } = factsOf(resource);
      const kind = `${storage.group}/${storage.plural}`;
      expect(prefixes.get(keyPrefix) ?? kind, keyPrefix).toBe(kind);
      prefixes.set(keyPrefix, kind);
    }
  });

  it('treats custom kinds alike', () => {
    const custom = factsOf(widget({ storageVersion: 'v2', selectableFields: ['spec.color'] }));
    expect(custom).toMatchObject({
      storage: { group: 'example.com', version: 'v2', plural: 'widgets', kind: 'Widget' },
      keyPrefix: 'example.com/widgets',
      hasGeneration: true,
      allowsUnconditionalUpdate: false,
      createsOnUpdate: false,
      hasStatus: false,
    });
    expect([...custom.fields.keys()]).toEqual(['metadata.name', 'metadata.namespace', 'spec.color']);
    expect(factsOf(widget({ isNamespaced: false })).fields.has('metadata.namespace')).toBe(false);
  });
});

describe('readField()', () => {
  const read = (kind: string, field: string, object: Parameters<typeof readField>[0]) =>
    readField(object, facts(kind).fields.get(field)!);

  it.each([
    ['pods', 'spec.host', { spec: { nodeName: 'n1' } }, 'n1'],
    ['pods', 'spec.nodeName', {}, ''],
    ['pods', 'spec.hostNetwork', {}, 'false'],
    ['pods', 'spec.hostNetwork', { spec: { hostNetwork: true } }, 'true'],
    ['pods', 'status.podIPs', { status: { podIPs: [{ ip: '10.0.0.1' }] } }, ''],
    ['jobs.batch', 'status.successful', { status: { succeeded: 3 } }, '3'],
    ['jobs.batch', 'status.successful', { status: null }, '0'],
    ['events', 'source', { source: { component: '' }, reportingComponent: 'kubelet' }, 'kubelet'],
    ['configmaps', 'metadata.name', { metadata: { name: 'a' } }, 'a'],
  ])('reads %s %s of %j as "%s"', (kind, field, object, want) => expect(read(kind, field, object)).toBe(want));
});

it('compareVersions() prefers what is more stable, then what is newer', () => {
  const order = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10'];
  expect([...order].reverse().sort(compareVersions)).toEqual(order);
});
