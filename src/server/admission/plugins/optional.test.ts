/** Plugins that act only where a flag says so. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import type { Attributes, Authorizer } from '../../auth/authorizer.ts';
import { find } from '../../kinds/strategy-run.testing.ts';
import { admitted } from '../admission.testing.ts';
import { namespaceExists } from './namespace-exists.ts';
import { ownerReferences } from './owner-references.ts';
import { extendedResourceToleration } from './pods/extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './pods/limit-pod-hard-anti-affinity-topology.ts';
import { podNodeSelector } from './pods/pod-node-selector.ts';
import { podTolerationRestriction } from './pods/pod-toleration-restriction.ts';

it('NamespaceExists: what lies in no namespace that is there is neither made, changed nor deleted', async () => {
  const write = { resource: 'configmaps', object: {}, others: { '/namespaces': [{ metadata: { name: 'ns' } }] } };
  await admitted(namespaceExists, write);
  await admitted(namespaceExists, { resource: 'nodes', object: {} });
  for (const operation of ['CREATE', 'UPDATE'] as const)
    await expect(admitted(namespaceExists, { ...write, operation, old: {}, namespace: 'none' })).rejects.toMatchObject({
      code: 404,
      message: 'namespaces "none" not found',
    });
});

it.each<[topologyKey: string, isAllowed: boolean]>([
  ['kubernetes.io/hostname', true],
  ['topology.kubernetes.io/zone', false],
])('LimitPodHardAntiAffinityTopology: a Pod insists on %s of its own: %s', async (topologyKey, isAllowed) => {
  const terms = [{ topologyKey: 'kubernetes.io/hostname' }, { topologyKey }];
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const write = admitted(limitPodHardAntiAffinityTopology, { resource: 'pods', object: { spec: { affinity } } });
  if (isAllowed) await write;
  else
    await expect(write).rejects.toMatchObject({
      code: 403,
      message: `pods "a" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key kubernetes.io/hostname is allowed`,
    });
});

it('ExtendedResourceToleration: a Pod tolerates the taints of the devices that it asks for', async () => {
  const asking = (requests: JsonObject) => ({ name: 'c', resources: { requests } });
  const known = { key: 'example.com/b', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 5 };
  const { object } = await admitted(extendedResourceToleration, {
    resource: 'pods',
    object: {
      spec: {
        containers: [asking({ cpu: '1', 'example.com/b': '1', 'hugepages-2Mi': '2Mi' })],
        initContainers: [asking({ 'example.com/a': '1' })],
        tolerations: [{ key: 'example.com/a', operator: 'Exists', effect: 'NoExecute' }, known],
      },
    },
  });
  expect((object.spec as JsonObject).tolerations).toEqual([
    { key: 'example.com/a', operator: 'Exists', effect: 'NoExecute' },
    { key: 'example.com/b', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'example.com/a', operator: 'Exists', effect: 'NoSchedule' },
  ]);
});

describe('OwnerReferencesPermissionEnforcement', () => {
  const owner = (name: string, more: JsonObject = {}) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name,
    uid: `of-${name}`,
    ...more,
  });
  const owned = (...ownerReferences: JsonObject[]): JsonObject => ({ metadata: { ownerReferences } });
  /** Allows what is named `VERB RESOURCE NAME`. */
  const plugin = (...rights: string[]) => {
    const authorizer = {
      authorize: (_user: unknown, what: Attributes) => {
        if (what.kind === 'path') return { allowed: false };
        const part = what.subresource === '' ? '' : `/${what.subresource}`;
        return { allowed: rights.includes(`${what.verb} ${what.resource}${part} ${what.name}`) };
      },
    } as unknown as Authorizer;
    return ownerReferences(authorizer, (apiVersion, kind) =>
      apiVersion === 'apps/v1' && kind === 'Deployment' ? find('deployments.apps') : undefined,
    );
  };
  const resource = 'configmaps';
  const blocking = { blockOwnerDeletion: true };
  const KEEPS =
    'configmaps "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: , <nil>';

  it('lets everybody say who owns what is new, but not keep the owner from going', async () => {
    await admitted(plugin(), { resource, object: owned(owner('d')) });
    const write = { resource, object: owned(owner('d', blocking)) };
    await expect(admitted(plugin(), write)).rejects.toMatchObject({ code: 403, message: KEEPS });
    await admitted(plugin('update deployments/finalizers d'), write);
  });

  it('lets others change the owners only who may delete the object', async () => {
    const write = { resource, operation: 'UPDATE', old: owned(owner('d')), object: owned() } as const;
    await expect(admitted(plugin(), write)).rejects.toMatchObject({
      code: 403,
      message: 'configmaps "a" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>',
    });
    await admitted(plugin('delete configmaps a'), write);
    await admitted(plugin(), { ...write, object: owned(owner('d')) });
  });

  it('asks about owners that are kept from going only where they were not before', async () => {
    const may = plugin('delete configmaps a', 'update deployments/finalizers e');
    const old = owned(owner('d', blocking), owner('e'));
    const write = (object: JsonObject) => admitted(may, { resource, operation: 'UPDATE', old, object });
    await write(owned(owner('d', blocking), owner('e', blocking)));
    await expect(write(owned(owner('d', blocking), owner('f', blocking)))).rejects.toThrow(KEEPS);
  });

  it('lets nothing keep an owner of an unknown kind from going', async () => {
    const object = owned(owner('d', { ...blocking, kind: 'Thing' }));
    await expect(admitted(plugin(), { resource, object })).rejects.toThrow(
      'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Thing: no matches for kind "Thing" in version "apps/v1"',
    );
  });
});

const inNamespace = (annotations: Record<string, string>) => ({
  '/namespaces': [{ metadata: { name: 'ns', annotations } }],
});

describe('PodNodeSelector', () => {
  const others = inNamespace({ 'scheduler.alpha.kubernetes.io/node-selector': 'env=test, disk = ssd' });
  const write = (nodeSelector?: JsonObject) => ({
    ...{ resource: 'pods', others },
    object: { spec: nodeSelector ? { nodeSelector } : {} },
  });

  it.each<[own: JsonObject | undefined, all: JsonObject]>([
    [undefined, { env: 'test', disk: 'ssd' }],
    [
      { env: 'test', zone: 'a' },
      { env: 'test', disk: 'ssd', zone: 'a' },
    ],
  ])('a Pod that selects %j selects %j', async (own, all) => {
    const { object } = await admitted(podNodeSelector, write(own));
    expect((object.spec as JsonObject).nodeSelector).toEqual(all);
  });

  it('refuses a Pod that contradicts, and an annotation that cannot be read', async () => {
    await expect(admitted(podNodeSelector, write({ env: 'prod' }))).rejects.toMatchObject({
      code: 403,
      message: 'pods "a" is forbidden: pod node label selector conflicts with its namespace node label selector',
    });
    const wrong = inNamespace({ 'scheduler.alpha.kubernetes.io/node-selector': 'env' });
    await expect(admitted(podNodeSelector, { ...write(), others: wrong })).rejects.toMatchObject({
      code: 500,
      message: 'invalid selector: [env]',
    });
  });
});

describe('PodTolerationRestriction', () => {
  const annotations = (defaults: JsonObject[] | undefined, listed: JsonObject[] | undefined) => ({
    ...(defaults && { 'scheduler.alpha.kubernetes.io/defaultTolerations': JSON.stringify(defaults) }),
    ...(listed && { 'scheduler.alpha.kubernetes.io/tolerationsWhitelist': JSON.stringify(listed) }),
  });
  const any = { key: 'a', operator: 'Exists' };
  const once = { key: 'a', operator: 'Equal', value: 'x', effect: 'NoSchedule' };
  const forMinute = { key: 'b', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 };
  const forHour = { ...forMinute, tolerationSeconds: 3600 };
  const run = async (own: JsonObject[], defaults?: JsonObject[], listed?: JsonObject[], more: object = {}) => {
    const spec = { ...(own.length > 0 && { tolerations: own }), containers: [{ name: 'c' }], ...more };
    const others = inNamespace(annotations(defaults, listed));
    const { object } = await admitted(podTolerationRestriction, { resource: 'pods', object: { spec }, others });
    return (object.spec as JsonObject).tolerations;
  };

  it.each<[own: JsonObject[], defaults: JsonObject[] | undefined, all: JsonObject[] | undefined]>([
    [[], undefined, undefined],
    [[], [once], [once]],
    [[once], [forMinute], [forMinute, once]],
    [[once], [any], [any]],
    [[any], [once], [any]],
    [[forMinute], [forHour], [forHour]],
    [[forHour], [forMinute], [forHour]],
    [[once], [once], [once]],
  ])('a Pod that tolerates %j in a namespace of %j tolerates %j', async (own, defaults, all) => {
    expect(await run(own, defaults)).toEqual(all);
  });

  it('a Pod that asks for memory tolerates nodes that are short of it', async () => {
    const containers = [{ name: 'c', resources: { requests: { memory: '1Mi' } } }];
    expect(await run([once], undefined, undefined, { containers })).toEqual([
      once,
      { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
    ]);
  });

  it('refuses what is not on the list of the namespace', async () => {
    expect(await run([once, forMinute], undefined, [any, forHour])).toEqual([once, forMinute]);
    const refusal = {
      code: 500,
      message:
        'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
    };
    await expect(run([forHour], undefined, [any, forMinute])).rejects.toMatchObject(refusal);
    await expect(run([], [forMinute], [any])).rejects.toMatchObject(refusal);
  });
});
