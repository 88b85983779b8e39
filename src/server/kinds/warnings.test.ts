import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/index.ts';
import { apply, find, warningsOf } from './strategy-run.testing.ts';

const ZONE = 'failure-domain.beta.kubernetes.io/zone';
const zoneText = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead';
const mountable = 'kubernetes.io/enforce-mountable-secrets';
const pod = { spec: { containers: [{ name: 'c', image: 'i' }] } };
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';
const preferred = (value: string): JsonObject => ({
  nodeAffinity: {
    [soft]: [{ weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', value] }] } }],
  },
});
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const address = (ip: string) => ({ subsets: [{ addresses: [{ ip }], notReadyAddresses: [{ ip }] }] });
const ipText = (path: string) =>
  `subsets[0].${path}[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`;

const rangeText = (path: string) =>
  `${path}: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")`;
const huge: JsonObject = {
  completionMode: 'Indexed',
  completions: 100_001,
  parallelism: 10_001,
  template: { spec: { ...pod.spec, restartPolicy: 'Never' } },
};
const hugeText =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';
const tenths: JsonObject = { requests: { storage: '1500m' }, limits: { storage: '2500m' } };
const tenthsText = (path: string) => [
  `${path}.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
  `${path}.limits[storage]: fractional byte value "2500m" is invalid, must be an integer`,
];

const ranges = {
  'networking.k8s.io/servicecidrs': [
    {
      kind: 'ServiceCIDR',
      apiVersion: 'networking.k8s.io/v1',
      metadata: { name: 'kubernetes' },
      spec: { cidrs: ['10.0.0.0/24'] },
    },
  ],
};

it.each<[kind: string, body: JsonObject, want: string[]]>([
  [
    'storageclasses.storage.k8s.io',
    {
      provisioner: 'd.example.com',
      allowedTopologies: [
        { matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['a'] }] },
        { matchLabelExpressions: [{ key: ZONE, values: ['a'] }] },
      ],
    },
    [`allowedTopologies[1].matchLabelExpressions[0].key: ${zoneText}`],
  ],
  [
    'csistoragecapacities.storage.k8s.io',
    {
      storageClassName: 'c',
      nodeTopology: { matchLabels: { a: 'b', [ZONE]: 'z' }, matchExpressions: [{ key: ZONE, operator: 'Exists' }] },
    },
    [`nodeTopology.matchExpressions[0].key: ${ZONE} is ${zoneText}`, `nodeTopology.matchLabels.${ZONE}: ${zoneText}`],
  ],
  [
    'runtimeclasses.node.k8s.io',
    { handler: 'h', scheduling: { nodeSelector: { a: 'b', [ZONE]: 'z' } } },
    [`scheduling.nodeSelector: ${zoneText}`],
  ],
  [
    'serviceaccounts',
    { metadata: { annotations: { [mountable]: 'false' } } },
    [
      `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
    ],
  ],
  ['endpoints', address('2001:DB8::1'), [ipText('addresses'), ipText('notReadyAddresses')]],
  [
    'endpoints',
    {
      ...address('2001:DB8::1'),
      metadata: { labels: { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
    },
    [],
  ],
  ['nodes', { spec: { podCIDRs: ['2001:DB8::/64'] } }, [rangeText('spec.podCIDRs[0]')]],
  ['jobs.batch', { spec: huge }, [`spec: ${hugeText}`]],
  [
    'cronjobs.batch',
    { spec: { schedule: '* * * * *', jobTemplate: { spec: huge } } },
    [`spec.jobTemplate.spec: ${hugeText}`],
  ],
  [
    'persistentvolumeclaims',
    { spec: { accessModes: ['ReadWriteOnce'], resources: tenths } },
    tenthsText('spec.resources'),
  ],
  [
    'pods',
    {
      spec: {
        ...pod.spec,
        volumes: [
          {
            name: 'v',
            ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: tenths } } },
          },
        ],
      },
    },
    tenthsText('spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources'),
  ],
  [
    'pods',
    { spec: { ...pod.spec, affinity: preferred('-1') } },
    [`spec.affinity.nodeAffinity.${soft}[0].preference.matchExpressions[0].values[1]: -1 is invalid, ${valueText}`],
  ],
])('who writes %s %j is told', async (kind, body, want) => {
  const run = await apply(find(kind), body);
  expect(run.errors).toEqual([]);
  expect(warningsOf(run)).toEqual(want);
});

it('who keeps an annotation that is going away is not told again', async () => {
  const { created, strategy, context } = await apply(find('serviceaccounts'), {
    metadata: { annotations: { [mountable]: 'true' } },
  });
  expect(strategy.warnings?.(created, created, context)).toEqual([]);
});

it.each<[kind: string, spec: JsonObject, status: JsonObject, path: string]>([
  ['pods', pod.spec, { podIP: '2001:DB8::1', podIPs: [{ ip: '2001:DB8::1' }] }, 'status.podIPs[0].ip'],
  [
    'services',
    { type: 'LoadBalancer', ports: [{ port: 80 }] },
    { loadBalancer: { ingress: [{ ip: '2001:DB8::1' }] } },
    'status.loadBalancer.ingress[0]',
  ],
])('who writes an odd address into the status of %s is told', async (kind, spec, status, path) => {
  const { created, strategy, context } = await apply(find(kind), { spec }, ranges);
  const warnings = strategy.warnings?.({ ...created, status }, created, { ...context, subresource: 'status' });
  expect(warnings).toEqual([
    `${path}: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`,
  ]);
});
