import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../api/index.ts';
import { admitted } from '../../admission.testing.ts';
import { defaultTolerationSeconds } from './default-toleration-seconds.ts';
import { podTopologyLabels } from './pod-topology-labels.ts';
import { priority } from './priority.ts';
import { runtimeClass } from './runtime-class.ts';

const pod = (spec: JsonObject) => ({ resource: 'pods', object: { spec } });
const classOf = (name: string, value: number, more: JsonObject = {}) => ({ metadata: { name }, value, ...more });

describe('Priority', () => {
  const others = {
    'scheduling.k8s.io/priorityclasses': [
      classOf('high', 7, { preemptionPolicy: 'Never' }),
      classOf('usual', 3, { globalDefault: true }),
      classOf('lower', 2, { globalDefault: true }),
    ],
  };

  it.each<[spec: JsonObject, want: JsonObject]>([
    [{ priorityClassName: 'high' }, { priorityClassName: 'high', priority: 7, preemptionPolicy: 'Never' }],
    [{}, { priorityClassName: 'lower', priority: 2, preemptionPolicy: 'PreemptLowerPriority' }],
    [{ priority: 2 }, { priorityClassName: 'lower', priority: 2, preemptionPolicy: 'PreemptLowerPriority' }],
  ])('makes of %j the pod %j', async (spec, want) => {
    expect((await admitted(priority, { ...pod(spec), others })).object.spec).toEqual(want);
  });

  it('is zero where there is no class at all', async () => {
    const { object } = await admitted(priority, pod({}));
    expect(object.spec).toEqual({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  });

  it.each<[spec: JsonObject, message: string]>([
    [{ priorityClassName: 'none' }, 'pods "a" is forbidden: no PriorityClass with name none was found'],
    [{ priorityClassName: 'high', priority: 5 }, 'the integer value of priority (5) must not be provided in pod spec'],
    [
      { priorityClassName: 'high', preemptionPolicy: 'PreemptLowerPriority' },
      'the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never',
    ],
  ])('refuses %j', async (spec, message) => {
    await expect(admitted(priority, { ...pod(spec), others })).rejects.toThrow(message);
  });

  it('keeps on update what was decided', async () => {
    const old = { spec: { priority: 7, preemptionPolicy: 'Never' } };
    const { object } = await admitted(priority, { ...pod({}), operation: 'UPDATE', old });
    expect(object.spec).toEqual(old.spec);
  });

  it('lets one class be the default', async () => {
    const write = { resource: 'priorityclasses.scheduling.k8s.io', others };
    await expect(admitted(priority, { ...write, object: { globalDefault: true } })).rejects.toThrow(
      'PriorityClass lower is already marked as default. Only one default can exist',
    );
    const own = { metadata: { name: 'lower' }, globalDefault: true };
    await admitted(priority, { ...write, operation: 'UPDATE', object: own, old: own });
  });
});

describe('DefaultTolerationSeconds', () => {
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
  it.each<[claim: string, tolerations: JsonObject[], keys: string[]]>([
    ['to a pod with none both', [], added],
    ['to one that tolerates everything none', [{ operator: 'Exists' }], []],
    ['to one that tolerates one for another effect both', [{ key: added[0]!, effect: 'NoSchedule' }], added],
    ['to one that tolerates one the other', [{ key: added[0]!, effect: 'NoExecute' }], [added[1]!]],
  ])('adds %s', async (_claim, tolerations, keys) => {
    const { object } = await admitted(defaultTolerationSeconds, pod({ tolerations }));
    const after = (object.spec as JsonObject).tolerations as JsonObject[];
    expect(after.slice(tolerations.length)).toEqual(
      keys.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })),
    );
  });
});

describe('RuntimeClass', () => {
  const runtime = {
    metadata: { name: 'r' },
    overhead: { podFixed: { cpu: '1' } },
    scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] },
  };
  const others = { 'node.k8s.io/runtimeclasses': [runtime, { metadata: { name: 'plain' } }] };

  it('gives a pod the overhead and the nodes of its class', async () => {
    const { object } = await admitted(runtimeClass, { ...pod({ runtimeClassName: 'r' }), others });
    expect(object.spec).toMatchObject({ ...runtime.scheduling, overhead: { cpu: '1' } });
  });

  it.each<[spec: JsonObject, message: string]>([
    [{ runtimeClassName: 'none' }, 'pod rejected: RuntimeClass "none" not found'],
    [{ runtimeClassName: 'r', nodeSelector: { a: 'c' } }, 'conflict: runtimeClass.scheduling.nodeSelector[a] = b; '],
    [{ runtimeClassName: 'r', overhead: { cpu: '2' } }, "pod rejected: Pod's Overhead doesn't match RuntimeClass's"],
    [{ overhead: { cpu: '2' } }, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'],
    [{ runtimeClassName: 'plain', overhead: { cpu: '2' } }, 'Overhead set without corresponding RuntimeClass'],
  ])('refuses %j', async (spec, message) => {
    await expect(admitted(runtimeClass, { ...pod(spec), others })).rejects.toThrow(message);
  });
});

describe('PodTopologyLabels', () => {
  const labels = { 'topology.kubernetes.io/zone': 'z', 'topology.kubernetes.io/region': 'r', other: 'x' };
  const others = { '/nodes': [{ metadata: { name: 'n', labels } }] };

  it('are those of the node a pod is made on or bound to, whatever the pod says itself', async () => {
    const { object } = await admitted(podTopologyLabels, {
      resource: 'pods',
      object: { metadata: { labels: { 'topology.kubernetes.io/zone': 'mine' } }, spec: { nodeName: 'n' } },
      others,
    });
    expect(object.metadata.labels).toEqual({
      'topology.kubernetes.io/zone': 'z',
      'topology.kubernetes.io/region': 'r',
    });
    const binding = {
      resource: 'pods',
      subresource: 'binding',
      object: { target: { kind: 'Node', name: 'n' } },
      others,
    };
    const bound = await admitted(podTopologyLabels, binding);
    expect(bound.object.metadata.labels).toMatchObject({ 'topology.kubernetes.io/zone': 'z' });
  });
});
