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
