/** Lists of a Pod are as long as a body lets them be: what admission does about them takes time in proportion. */
import { it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import type { JsonObject } from '../../api/index.ts';
import { admitted } from './admission.testing.ts';
import type { AdmissionPlugin } from './admission.ts';
import { limitRanger } from './plugins/limit-ranger/limit-ranger.ts';
import { defaultTolerationSeconds } from './plugins/pods/default-toleration-seconds.ts';
import { podTolerationRestriction } from './plugins/pods/pod-toleration-restriction.ts';
import { runtimeClass } from './plugins/pods/runtime-class.ts';
import { serviceAccount } from './plugins/pods/service-account.ts';
import { podSecurity } from './pod-security/pod-security.ts';
import { resourceQuota } from './quota/resource-quota.ts';

const many = (size: number, make: (index: number) => JsonObject): JsonObject[] =>
  Array.from({ length: size }, (_n, i) => make(i));
const containers = (size: number) => ({
  containers: many(size, (i) => ({
    name: `c${i}`,
    image: 'x:1',
    resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '2m' } },
    env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's' } } }],
  })),
});
const tolerations = (size: number) => many(size, (i) => ({ key: `k${i}`, operator: 'Exists' }));

const quota = {
  kind: 'ResourceQuota',
  apiVersion: 'v1',
  metadata: { name: 'q', namespace: 'ns' },
  status: { hard: { 'requests.cpu': '1k', pods: '9' }, used: { 'requests.cpu': '0', pods: '0' } },
};
const others = (size: number) => ({
  '/limitranges': [
    {
      metadata: { name: 'l', namespace: 'ns' },
      spec: {
        limits: [
          { type: 'Container', min: { cpu: '1m' }, default: { memory: '1Mi' } },
          { type: 'Pod', max: { cpu: '1k' } },
        ],
      },
    },
  ],
  '/namespaces': [
    {
      metadata: {
        name: 'ns',
        labels: { 'pod-security.kubernetes.io/warn': 'restricted' },
        annotations: {
          'scheduler.alpha.kubernetes.io/tolerationsWhitelist': JSON.stringify(tolerations(size).reverse()),
        },
      },
    },
  ],
  '/serviceaccounts': [
    {
      metadata: {
        name: 'default',
        namespace: 'ns',
        annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' },
      },
      secrets: [...many(size, (i) => ({ name: `s${i}` })), { name: 's' }],
    },
  ],
  'node.k8s.io/runtimeclasses': [{ metadata: { name: 'r' }, scheduling: { tolerations: tolerations(size).reverse() } }],
});

it.each<[plugin: AdmissionPlugin, spec: (size: number) => JsonObject]>([
  [limitRanger, containers],
  [podSecurity(), containers],
  [serviceAccount, containers],
  [resourceQuota({ list: async () => [quota], writeUsed: async () => 'written' }), containers],
  [runtimeClass, (size) => ({ runtimeClassName: 'r', tolerations: tolerations(size) })],
  [defaultTolerationSeconds, (size) => ({ tolerations: tolerations(size) })],
  [podTolerationRestriction, (size) => ({ tolerations: tolerations(size) })],
])('$name takes time in proportion to the Pod', async (plugin, spec) => {
  await expectLinear(plugin.name, {
    make: (size) => ({ resource: 'pods', object: { spec: spec(size) }, others: others(size) }),
    run: (write) => admitted(plugin, write),
    from: 250,
    limit: 16_000,
    rounds: 2,
  });
});
