/** An optional text that is empty is a value: no default takes its place, and it is not the same as none. */
import { expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { type Change, created, faultsOf, updateFaultsOf } from './kind-tables.testing.ts';
import { strategyOf } from './strategy-of.ts';
import { find } from './strategy-run.testing.ts';

const claim: JsonObject = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const disk: JsonObject = { diskName: 'd', diskURI: 'https://a.blob.core.windows.net/c/d.vhd' };
const containers = [{ name: 'c', image: 'i' }];
const podWith = (source: JsonObject): JsonObject => ({ spec: { containers, volumes: [{ name: 'v', ...source }] } });
const volume: JsonObject = {
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], azureDisk: disk },
};
const set: JsonObject = {
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers } },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
  },
};
const job: JsonObject = { spec: { template: { spec: { restartPolicy: 'Never', containers } } } };
const caching = 'Unsupported value: "": supported values: "None", "ReadOnly", "ReadWrite"';
const modes = 'Unsupported value: "": supported values: "Block", "Filesystem"';

it.each<[kind: string, good: JsonObject, path: string, want: string[]]>([
  ['persistentvolumes', volume, 'spec.azureDisk.cachingMode', [`spec.azureDisk.cachingMode: ${caching}`]],
  ['persistentvolumes', volume, 'spec.azureDisk.fsType', []],
  [
    'pods',
    podWith({ azureDisk: disk }),
    'spec.volumes.0.azureDisk.cachingMode',
    [`spec.volumes[0].azureDisk.cachingMode: ${caching}`],
  ],
  [
    'pods',
    podWith({ azureDisk: disk }),
    'spec.volumes.0.azureDisk.kind',
    ['spec.volumes[0].azureDisk.kind: Unsupported value: "": supported values: "Dedicated", "Managed", "Shared"'],
  ],
  [
    'pods',
    podWith({ ephemeral: { volumeClaimTemplate: { spec: claim } } }),
    'spec.volumes.0.ephemeral.volumeClaimTemplate.spec.volumeMode',
    [`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeMode: ${modes}`],
  ],
  [
    'statefulsets.apps',
    set,
    'spec.volumeClaimTemplates.0.spec.volumeMode',
    [`spec.volumeClaimTemplates[0].spec.volumeMode: ${modes}`],
  ],
  [
    'jobs.batch',
    job,
    'spec.completionMode',
    ['spec.completionMode: Unsupported value: "": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    'jobs.batch',
    job,
    'spec.podReplacementPolicy',
    ['spec.podReplacementPolicy: Unsupported value: "": supported values: "Failed", "TerminatingOrFailed"'],
  ],
])('in %s of %j an empty %s is no default', async (kind, good, path, want) => {
  expect(await faultsOf(kind, good, [path, ''])).toEqual(want);
});

const fixedClaim = /^spec: Forbidden: spec is immutable after creation except/;
const subset = { addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] };
const event: JsonObject = {
  regarding: { kind: 'Pod', name: 'p', namespace: 'ns' },
  eventTime: '2024-01-01T00:00:00.000000Z',
  ...{ type: 'Normal', reason: 'r', action: 'a', reportingController: 'c.example.com/x', reportingInstance: 'i' },
};
it.each<[kind: string, good: JsonObject, path: string, value: Change[1], want: RegExp]>([
  ['persistentvolumeclaims', { spec: claim }, 'spec.volumeAttributesClassName', '', fixedClaim],
  [
    'persistentvolumeclaims',
    { spec: { ...claim, selector: { matchLabels: { a: 'b' } } } },
    'spec.selector.matchLabels.added',
    '',
    fixedClaim,
  ],
  ['persistentvolumeclaims', { spec: claim }, 'spec.selector', {}, fixedClaim],
  [
    'endpoints',
    { subsets: [subset] },
    'subsets.0.addresses.0.nodeName',
    '',
    /^subsets\[0\]\.addresses\[0\]\.nodeName: Invalid value: "": a lowercase RFC 1123 subdomain/,
  ],
  ['events.events.k8s.io', event, 'related', {}, /^related: Invalid value: \{\}: field is immutable/],
  ['statefulsets.apps', set, 'spec.volumeClaimTemplates.0.spec.storageClassName', '', /^spec: Forbidden: updates to/],
  [
    'jobs.batch',
    { spec: { ...(job.spec as JsonObject), suspend: false } },
    'spec.template.spec.affinity',
    {},
    /^spec\.template: Invalid value: [\s\S]*field is immutable$/,
  ],
])('an update of %s of %j with %s: %j is not the same', async (kind, good, path, value, want) => {
  expect(await updateFaultsOf(kind, good)).toEqual([]);
  expect(await updateFaultsOf(kind, good, [path, value])).toEqual([expect.stringMatching(want)]);
});

it.each<[kind: string, good: JsonObject, path: string]>([
  ['persistentvolumes', volume, 'spec.capacity.storage'],
  ['persistentvolumeclaims', { spec: claim }, 'spec.resources.requests.storage'],
  ['statefulsets.apps', set, 'spec.volumeClaimTemplates.0.spec.resources.requests.storage'],
  [
    'pods',
    podWith({ ephemeral: { volumeClaimTemplate: { spec: claim } } }),
    'spec.volumes.0.ephemeral.volumeClaimTemplate.spec.resources.requests.storage',
  ],
])('storage in %s of %j is counted in thousandths', async (kind, good, path) => {
  const { created: object } = await created(kind, good, [path, '0.0001']);
  expect(JSON.stringify(object)).toContain('"storage":"1m"');
});

it('what a pod was given is counted in thousandths', async () => {
  const amounts = { cpu: '0.0001' };
  const given = { allocatedResources: amounts, resources: { limits: amounts, requests: amounts } };
  const lists = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'];
  const status: JsonObject = {
    ...given,
    ...Object.fromEntries(lists.map((list) => [list, [{ name: 'c', ...given }]])),
  };
  const pod = { metadata: {}, spec: { containers }, status } as unknown as KubeObject;
  strategyOf(find('pods')).setDefaults?.(pod);
  expect(JSON.stringify(pod.status).match(/"cpu":"1m"/g)).toHaveLength(12);
});
