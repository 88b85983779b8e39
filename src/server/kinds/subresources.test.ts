import { expect, it } from 'vitest';
import type { JsonObject, KubeObject, StatusError } from '../../api/index.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { applyScale, toScale, validateScale } from '../strategy/scale.ts';
import type { StrategyContext } from '../strategy/strategy.ts';
import { convertObject } from './conversion.ts';
import { applyBinding, validateBinding } from './pods/binding.ts';
import { allowEviction, markEvicted, takeDisruption } from './policy/eviction.ts';

const now = '2024-01-01T00:00:00Z';
const resource = (groupVersion: string, plural: string) =>
  builtInResources().find((one) => one.groupVersion === groupVersion && one.plural === plural)!;

const deployment = (replicas: number): KubeObject => ({
  kind: 'Deployment',
  apiVersion: 'apps/v1',
  metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', creationTimestamp: now, generation: 3 },
  spec: { replicas, selector: { matchLabels: { app: 'a' } } },
  status: {},
});

it('toScale() shows the replicas of a deployment, none as nothing', () => {
  expect(toScale(deployment(1))).toEqual({
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', creationTimestamp: now },
    spec: { replicas: 1 },
    status: { replicas: 0, selector: 'app=a' },
  });
  expect(toScale(deployment(0)).spec).toEqual({});
});

it('toScale() and applyScale() follow the paths of a custom kind', () => {
  const widget: KubeObject = {
    kind: 'W',
    apiVersion: 'x/v1',
    metadata: { name: 'w' },
    spec: { n: 2 },
    status: { s: 'a=b' },
  };
  const paths = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.s' };
  expect(toScale(widget, paths)).toMatchObject({ spec: { replicas: 2 }, status: { replicas: 0, selector: 'a=b' } });
  applyScale(widget, { ...toScale(widget, paths), spec: { replicas: 5 } }, paths);
  expect(widget.spec).toEqual({ n: 5 });
});

it('validateScale() refuses less than none', () => {
  expect(validateScale({ ...toScale(deployment(1)), spec: { replicas: -1 } })).toEqual([
    {
      reason: 'FieldValueInvalid',
      field: 'spec.replicas',
      message: 'Invalid value: -1: must be greater than or equal to 0',
    },
  ]);
});

const pod = (phase = 'Running'): KubeObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'ns', labels: { app: 'a' } },
  spec: {},
  status: { phase, conditions: [{ type: 'Ready', status: 'True' }] },
});
const binding = (name: string): KubeObject => ({
  kind: 'Binding',
  apiVersion: 'v1',
  metadata: { name: 'a' },
  target: { kind: 'Node', name },
});

it('applyBinding() sets the node once', () => {
  const bound = pod('Pending');
  (bound.status as JsonObject).nominatedNodeName = 'n0';
  applyBinding(bound, binding('n1'), now);
  expect(bound.spec).toEqual({ nodeName: 'n1' });
  expect(bound.status).not.toHaveProperty('nominatedNodeName');
  expect((bound.status as JsonObject).conditions).toContainEqual({
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: now,
  });
  expect(() => applyBinding(bound, binding('n2'), now)).toThrow(
    'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
  );
  expect(validateBinding(binding(''))).toMatchObject([{ field: 'target.name', message: 'Required value' }]);
});

const budget = (name: string, disruptionsAllowed: number): KubeObject => ({
  kind: 'PodDisruptionBudget',
  apiVersion: 'policy/v1',
  metadata: { name, namespace: 'ns', generation: 1 },
  spec: { selector: { matchLabels: { app: 'a' } } },
  status: { observedGeneration: 1, disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1 },
});
const context = (...budgets: KubeObject[]): StrategyContext => ({
  now,
  subresource: 'eviction',
  list: async () => budgets,
  listHeld: async () => budgets,
  listKnown: async () => budgets,
  known: () => undefined,
  remembered: () => undefined,
  walk: async () => ({ total: 0, objects: [] }),
  warn: () => {},
});

it('allowEviction() finds the budget of the pod, where it has one to ask', async () => {
  expect(await allowEviction(pod(), context())).toEqual({});
  expect(await allowEviction(pod('Failed'), context(budget('b', 0)))).toEqual({});
  expect(await allowEviction(pod('Pending'), context(budget('b', 0)))).toEqual({ ifChanged: 'again' });
  expect(await allowEviction(pod(), context(budget('b', 0)))).toEqual({ budget: budget('b', 0) });
  const unready = { ...pod(), status: { phase: 'Running' } };
  expect(await allowEviction(unready, context(budget('b', 0)))).toMatchObject({ ifChanged: { code: 429 } });
  const two = await allowEviction(pod(), context(budget('b', 1), budget('c', 1))).catch((err: unknown) => err);
  expect(two).toMatchObject({
    code: 500,
    message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  });
  expect((two as StatusError).status).not.toHaveProperty('reason');
});

it('takeDisruption() charges a budget that allows it', () => {
  const exhausted = { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', observedGeneration: 1 };
  expect(takeDisruption(budget('b', 1), 'a', now).status).toMatchObject({
    disruptionsAllowed: 0,
    disruptedPods: { a: now },
    conditions: [exhausted],
  });
  const refusal = refusedBy(() => takeDisruption(budget('b', 0), 'a', now));
  expect(refusal).toMatchObject({
    code: 429,
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    status: {
      details: {
        causes: [
          { reason: 'DisruptionBudget', message: 'The disruption budget b needs 1 healthy pods and has 1 currently' },
        ],
      },
    },
  });
});

function refusedBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (err) {
    return err;
  }
}

it('markEvicted() says once why a pod goes', () => {
  const evicted = pod();
  markEvicted(evicted, now);
  markEvicted(evicted, '2025-01-01T00:00:00Z');
  const { conditions } = evicted.status as { conditions: JsonObject[] };
  expect(conditions).toMatchObject([{ type: 'Ready' }, { type: 'DisruptionTarget', lastTransitionTime: now }]);
});

const coreEvent: KubeObject = {
  kind: 'Event',
  apiVersion: 'v1',
  metadata: { name: 'e', namespace: 'ns' },
  involvedObject: { kind: 'Pod', namespace: 'ns', name: 'p', apiVersion: 'v1' },
  reason: 'Tested',
  message: 'a message',
  source: { component: 'test' },
  firstTimestamp: now,
  lastTimestamp: now,
  count: 1,
  type: 'Normal',
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
};

it('convertObject() shows an event in both forms', () => {
  const [core, other] = [resource('v1', 'events'), resource('events.k8s.io/v1', 'events')];
  const converted = convertObject(coreEvent, core, other);
  expect(converted).toEqual({
    kind: 'Event',
    apiVersion: 'events.k8s.io/v1',
    metadata: coreEvent.metadata,
    eventTime: null,
    reason: 'Tested',
    regarding: coreEvent.involvedObject,
    note: 'a message',
    type: 'Normal',
    deprecatedSource: { component: 'test' },
    deprecatedFirstTimestamp: now,
    deprecatedLastTimestamp: now,
    deprecatedCount: 1,
  });
  expect(convertObject(converted, other, core)).toEqual(coreEvent);
  expect(convertObject(coreEvent, core, core)).toBe(coreEvent);
});

const targets: [claim: string, metrics: JsonObject[]][] = [
  ['the processor', []],
  ['pods', [{ type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '5' } } }]],
  ['another', [{ type: 'External', external: { metric: { name: 'q' }, target: { type: 'Value', value: '3' } } }]],
];

it.each(targets)('convertObject() keeps an autoscaler by %s there and back', (_claim, metrics) => {
  const [old, current] = [
    resource('autoscaling/v1', 'horizontalpodautoscalers'),
    resource('autoscaling/v2', 'horizontalpodautoscalers'),
  ];
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } };
  const autoscaler: KubeObject = {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: { name: 'h' },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'a' }, maxReplicas: 3, metrics: [...metrics, cpu] },
    status: { currentReplicas: 1, desiredReplicas: 2, currentMetrics: null },
  };
  const before = structuredClone(autoscaler);
  const converted = convertObject(autoscaler, current, old);
  expect(converted).toMatchObject({ apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 70 } });
  expect(convertObject(converted, old, current)).toEqual(before);
  expect(autoscaler).toEqual(before);
});
