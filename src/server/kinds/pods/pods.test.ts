import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { apply, find, warningsOf } from '../strategy-run.testing.ts';

const pods = find('pods');
const container = { name: 'c', image: 'registry.example/app:1' };
const bare = { spec: { containers: [container] } };

it('a pod with one container is stored with every default', async () => {
  const { created, errors } = await apply(pods, bare);
  expect(errors).toEqual([]);
  expect(created.spec).toEqual({
    containers: [
      {
        ...container,
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  expect(created.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
});

it('nobody finds the annotations that told what runs first', async () => {
  const former = {
    'pod.beta.kubernetes.io/init-containers': '[]',
    'pod.alpha.kubernetes.io/init-container-statuses': '',
  };
  const metadata = { labels: { a: 'b' }, annotations: { ...former, kept: '' } };
  const { created } = await apply(pods, { metadata, ...bare });
  expect(created.metadata.annotations).toEqual({ kept: '' });
  const only = await apply(pods, { metadata: { annotations: former }, ...bare });
  expect(only.created.metadata).not.toHaveProperty('annotations');
  const template = { metadata, ...bare };
  const workload = await apply(find('deployments.apps'), { spec: { selector: { matchLabels: { a: 'b' } }, template } });
  expect(workload.created).toMatchObject({ spec: { template: { metadata: { annotations: { kept: '' } } } } });
  expect(JSON.stringify(workload.created)).not.toContain('init-container');
});

it('a pod that is to end before it is told to has a second, and is not warned of', async () => {
  const preStop = { sleep: { seconds: 5 } };
  const containers = [{ ...container, lifecycle: { preStop } }];
  const run = await apply(pods, { spec: { containers, terminationGracePeriodSeconds: -1 } });
  expect(run.created).toMatchObject({ spec: { terminationGracePeriodSeconds: 1 } });
  expect(run.errors).toEqual([
    'spec.containers[0].lifecycle.preStop.sleep: Invalid value: 5: must be non-negative and less than terminationGracePeriodSeconds (1)',
  ]);
  expect(warningsOf(run)).toEqual([]);
});

it.each([
  ['app', 'Always'],
  ['app:latest', 'Always'],
  ['registry:5000/app', 'Always'],
  ['registry:5000/app:1', 'IfNotPresent'],
  ['app@sha256:01', 'IfNotPresent'],
])('the image %s is pulled %s', async (image, policy) => {
  const { created } = await apply(pods, { spec: { containers: [{ name: 'c', image }] } });
  expect(created).toMatchObject({ spec: { containers: [{ imagePullPolicy: policy }] } });
});

it.each<[volume: JsonObject, want: JsonObject]>([
  [{ secret: { secretName: 'x' } }, { secret: { secretName: 'x', defaultMode: 420 } }],
  [{ hostPath: { path: '/x' } }, { hostPath: { path: '/x', type: '' } }],
  [{}, { emptyDir: {} }],
  [
    { downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }] } },
    {
      downwardAPI: {
        items: [{ path: 'l', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.labels' } }],
        defaultMode: 420,
      },
    },
  ],
])('the volume %j becomes %j', async (volume, want) => {
  const { created } = await apply(pods, { spec: { containers: [container], volumes: [{ name: 'v', ...volume }] } });
  expect((created.spec as JsonObject).volumes).toEqual([{ name: 'v', ...want }]);
});

const limits = { cpu: '1', memory: '64Mi' };
it.each<[claim: string, resources: JsonObject[], want: string]>([
  ['asks for nothing', [{}], 'BestEffort'],
  ['is limited in all it has', [{ limits }], 'Guaranteed'],
  ['is limited in one container only', [{ limits }, {}], 'Burstable'],
  ['requests less than its limit', [{ limits, requests: { cpu: '500m' } }], 'Burstable'],
])('a pod that %s', async (_claim, resources, want) => {
  const containers = resources.map((one, index) => ({ name: `c${index}`, image: 'x:1', resources: one }));
  const { created } = await apply(pods, { spec: { containers } });
  expect((created.status as JsonObject).qosClass).toBe(want);
});

const tolerations = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));
const preemptionPolicy = 'PreemptLowerPriority';
const asAdmitted = { spec: { containers: [container], tolerations, priority: 0, preemptionPolicy } };

const mayChange =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
  '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n';

it.each<[claim: string, change: (spec: JsonObject) => void, want: string[]]>([
  [
    'a node selector',
    (spec) => {
      spec.nodeSelector = { x: 'y' };
    },
    [
      `${mayChange}@@ -39,7 +39,9 @@\n  "TerminationGracePeriodSeconds": 30,\n  "ActiveDeadlineSeconds": null,\n` +
        '  "DNSPolicy": "ClusterFirst",\n- "NodeSelector": null,\n+ "NodeSelector": {\n+  "x": "y"\n+ },\n' +
        '  "ServiceAccountName": "",\n  "AutomountServiceAccountToken": null,\n  "NodeName": "",\n',
    ],
  ],
  [
    'another container',
    (spec) => {
      (spec.containers as JsonObject[]).push({ name: 'd', image: 'x' });
    },
    ['spec.containers: Forbidden: pod updates may not add or remove containers'],
  ],
  [
    'another toleration',
    (spec) => {
      (spec.tolerations as JsonObject[])[0]!.operator = 'Equal';
    },
    ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
  ],
  [
    'another image',
    (spec) => {
      (spec.containers as JsonObject[])[0]!.image = 'x:2';
    },
    [],
  ],
])('a pod is updated with %s', async (_claim, change, want) => {
  const { created, strategy, context } = await apply(pods, asAdmitted);
  const next = structuredClone(created);
  change(next.spec as JsonObject);
  const before = structuredClone(created);
  await strategy.prepareUpdate?.(next, created, context);
  expect(strategy.validateUpdate?.(next, created).map(fieldErrorText)).toEqual(want);
  expect(created).toEqual(before);
});

const affinityPath = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
const hardAffinity = (required: JsonObject) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
});
it.each<[claim: string, field: string, value: JsonObject | undefined, want: string[]]>([
  [
    'no node selector',
    'nodeSelector',
    undefined,
    [
      'spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
  ],
  [
    'an empty node selector',
    'nodeSelector',
    {},
    [
      'spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
  ],
  ['a longer node selector', 'nodeSelector', { a: 'b', c: 'd' }, []],
  [
    'no terms',
    'affinity',
    hardAffinity({}),
    [`${affinityPath}: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed`],
  ],
  [
    'an empty list of terms',
    'affinity',
    hardAffinity({ nodeSelectorTerms: [] }),
    [`${affinityPath}: Invalid value: []: no additions/deletions to non-empty NodeSelectorTerms list are allowed`],
  ],
])('a pod that waits for its gates is updated with %s', async (_claim, field, value, want) => {
  const term = { matchExpressions: [{ key: 'k', operator: 'Exists' }] };
  const gated = {
    ...asAdmitted.spec,
    schedulingGates: [{ name: 'a' }],
    nodeSelector: { a: 'b' },
    affinity: hardAffinity({ nodeSelectorTerms: [term] }),
  };
  const { created, strategy, context } = await apply(pods, { spec: gated });
  const next = structuredClone(created);
  if (value === undefined) delete (next.spec as JsonObject)[field];
  else (next.spec as JsonObject)[field] = value;
  await strategy.prepareUpdate?.(next, created, context);
  expect(strategy.validateUpdate?.(next, created).map(fieldErrorText)).toEqual(want);
});

it('only its subresource may give a pod more resources', async () => {
  const resources = (cpu: string) => ({ requests: { cpu } });
  const asking = { spec: { containers: [{ name: 'c', image: 'x:1', resources: resources('1') }] } };
  const { created, strategy, context } = await apply(pods, asking);
  const next = structuredClone(created);
  (next.spec as { containers: JsonObject[] }).containers[0]!.resources = resources('2');
  await strategy.prepareUpdate?.(next, created, context);
  expect(strategy.validateUpdate?.(next, created, context).map(fieldErrorText)).toEqual([
    expect.stringContaining('pod updates may not change fields'),
  ]);
  const resize = { ...context, subresource: 'resize' };
  next.metadata.labels = { a: 'b' };
  strategy.keepOther?.(next, created, 'resize');
  await strategy.prepareUpdate?.(next, created, resize);
  expect(next.spec).toMatchObject({ containers: [{ resources: resources('2') }] });
  expect(next.metadata).not.toHaveProperty('labels');
  expect(strategy.validateUpdate?.(next, created, resize)).toEqual([]);
});

it('a write of the status keeps the quality of service, and joins the addresses', async () => {
  const { created, strategy, context } = await apply(pods, bare);
  const next: KubeObject = { ...structuredClone(created), status: { phase: 'Running', podIP: '10.1.2.3' } };
  strategy.setDefaults?.(next);
  await strategy.prepareUpdate?.(next, created, { ...context, subresource: 'status' });
  expect(next.status).toEqual({
    phase: 'Running',
    podIP: '10.1.2.3',
    podIPs: [{ ip: '10.1.2.3' }],
    qosClass: 'BestEffort',
  });
});

it.each<[claim: string, spec: JsonObject, phase: string, asked: number | undefined, want: number]>([
  ['on no node', {}, 'Pending', undefined, 0],
  ['on a node', { nodeName: 'n' }, 'Running', undefined, 30],
  ['with its own period', { nodeName: 'n', terminationGracePeriodSeconds: 5 }, 'Running', undefined, 5],
  ['asked for another', { nodeName: 'n' }, 'Running', 0, 0],
  ['asked for less than none', { nodeName: 'n' }, 'Running', -3, 1],
  ['that is done', { nodeName: 'n' }, 'Succeeded', undefined, 0],
])('a pod %s is given time to end', async (_claim, spec, phase, asked, want) => {
  const { created, strategy } = await apply(pods, { spec: { containers: [container], ...spec } });
  created.status = { phase };
  const options = asked === undefined ? {} : { gracePeriodSeconds: asked };
  expect(strategy.gracePeriodSeconds?.(created, options)).toBe(want);
});

it('a status that does not say which generation was seen keeps the one that was said before', async () => {
  const { created, strategy, context } = await apply(pods, bare);
  const seen = (...generations: (number | undefined)[]) => ({
    ...(generations[0] !== undefined && { observedGeneration: generations[0] }),
    conditions: generations
      .slice(1)
      .map((one) => ({ type: 'Ready', ...(one !== undefined && { observedGeneration: one }) })),
  });
  const write = async (before: JsonObject, status: JsonObject): Promise<JsonObject> => {
    const next: KubeObject = { ...created, status: structuredClone(status) };
    await strategy.prepareUpdate?.(next, { ...created, status: before }, { ...context, subresource: 'status' });
    const { observedGeneration, conditions } = next.status as JsonObject;
    return { ...(observedGeneration !== undefined && { observedGeneration }), conditions: conditions! };
  };
  expect(await write(seen(3, 2, 1), seen(undefined, undefined, undefined))).toEqual(seen(3, 2, 1));
  expect(await write(seen(3, 2), seen(4, 5, undefined))).toEqual(seen(4, 5, undefined));
});

const both = (amounts: JsonObject): JsonObject => ({ requests: amounts, limits: amounts });
it.each<[claim: string, whole: JsonObject, want: JsonObject]>([
  [
    'what its containers ask for together',
    { limits: { cpu: '4' } },
    { limits: { cpu: '4', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '2', 'hugepages-2Mi': '4Mi' } },
  ],
  [
    'what it is given itself',
    { requests: { cpu: '3' }, limits: { 'hugepages-2Mi': '8Mi', memory: '1Gi' } },
    {
      requests: { cpu: '3', 'hugepages-2Mi': '8Mi', memory: '1Gi' },
      limits: { 'hugepages-2Mi': '8Mi', memory: '1Gi' },
    },
  ],
  [
    'limits of pages where it only says what it requests',
    { requests: { memory: '1Gi' } },
    { limits: { 'hugepages-2Mi': '4Mi' }, requests: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
  ],
  [
    'no limits where it requests pages itself',
    { requests: { memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
    { requests: { memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
  ],
])('a pod as a whole has %s', async (_claim, resources, want) => {
  const asking = { ...container, resources: both({ cpu: '1', 'hugepages-2Mi': '2Mi' }) };
  const { created } = await apply(pods, { spec: { resources, containers: [asking, { ...asking, name: 'd' }] } });
  expect((created.spec as JsonObject).resources).toEqual(want);
});
