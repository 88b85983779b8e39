/**
 * Autoscalers between their versions. The older one has a field for the processor only; other metrics, the behaviour
 * and the conditions travel in annotations, as JSON, under the names kube-apiserver uses.
 */
import type { JsonObject, JsonValue, KubeObject } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { parseJson } from '../../codec/json/json-reader.ts';
import { isEmpty, isObject, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';

const prefix = 'autoscaling.alpha.kubernetes.io/';
const annotationNames = {
  metrics: `${prefix}metrics`,
  behavior: `${prefix}behavior`,
  conditions: `${prefix}conditions`,
};

export function toOldAutoscaler(object: KubeObject): KubeObject {
  const { metrics: _metrics, behavior, ...spec } = objectAt(object as JsonObject, 'spec') ?? {};
  const { currentMetrics: _current, conditions, ...status } = objectAt(object as JsonObject, 'status') ?? {};
  const all = objectsAt(objectAt(object as JsonObject, 'spec'), 'metrics');
  const processor = all.find(isProcessor);
  const others = all.filter((metric) => metric !== processor).map(toOldMetric);
  const annotations = { ...object.metadata.annotations };
  if (others.length > 0) annotations[annotationNames.metrics] = jsonText(others);
  if (!isEmpty(behavior)) annotations[annotationNames.behavior] = jsonText(behavior);
  if (!isEmpty(conditions)) annotations[annotationNames.conditions] = jsonText(conditions);
  const current = objectsAt(objectAt(object as JsonObject, 'status'), 'currentMetrics').find(isProcessor);
  const usage = objectAt(objectAt(current, 'resource'), 'current')?.averageUtilization;
  const wanted = objectAt(objectAt(processor, 'resource'), 'target')?.averageUtilization;
  return withAnnotations(object, 'autoscaling/v1', annotations, {
    spec: { ...spec, ...(wanted !== undefined && { targetCPUUtilizationPercentage: wanted }) },
    status: {
      currentReplicas: 0,
      desiredReplicas: 0,
      ...status,
      ...(usage !== undefined && { currentCPUUtilizationPercentage: usage }),
    },
  });
}

export function toNewAutoscaler(object: KubeObject): KubeObject {
  const { targetCPUUtilizationPercentage: wanted, ...spec } = objectAt(object as JsonObject, 'spec') ?? {};
  const { currentCPUUtilizationPercentage: usage, ...status } = objectAt(object as JsonObject, 'status') ?? {};
  const annotations = { ...object.metadata.annotations };
  const others = takeJson(annotations, annotationNames.metrics);
  const behavior = takeJson(annotations, annotationNames.behavior);
  const conditions = takeJson(annotations, annotationNames.conditions);
  const metrics: JsonValue[] = Array.isArray(others) ? others.filter(isObject).map(toNewMetric) : [];
  if (wanted !== undefined)
    metrics.push(processorMetric('target', { type: 'Utilization', averageUtilization: wanted }));
  const current = usage === undefined ? null : [processorMetric('current', { averageUtilization: usage })];
  return withAnnotations(object, 'autoscaling/v2', annotations, {
    spec: { ...spec, ...(metrics.length > 0 && { metrics }), ...(behavior !== undefined && { behavior }) },
    status: { desiredReplicas: 0, ...status, currentMetrics: current, ...(conditions !== undefined && { conditions }) },
  });
}

function withAnnotations(
  object: KubeObject,
  apiVersion: string,
  annotations: Record<string, string>,
  parts: { spec: JsonObject; status: JsonObject },
): KubeObject {
  const metadata = { ...object.metadata, annotations };
  if (Object.keys(annotations).length === 0) delete (metadata as { annotations?: unknown }).annotations;
  return { ...object, apiVersion, metadata, ...parts };
}

function isProcessor(metric: JsonObject): boolean {
  if (metric.type !== 'Resource') return false;
  const resource = objectAt(metric, 'resource');
  const amount = objectAt(resource, 'target') ?? objectAt(resource, 'current');
  return textAt(resource, 'name') === 'cpu' && amount?.averageUtilization !== undefined;
}

function processorMetric(part: 'target' | 'current', amount: JsonObject): JsonObject {
  return { type: 'Resource', resource: { name: 'cpu', [part]: amount } };
}

function takeJson(annotations: Record<string, string>, name: string): JsonValue | undefined {
  const text = annotations[name];
  if (text === undefined) return undefined;
  try {
    const value = parseJson(text);
    delete annotations[name];
    return value;
  } catch {
    return undefined; // not ours: it stays what it is, an annotation
  }
}

/** The member of a metric that is named after its type. */
function memberOf(metric: JsonObject): string {
  const type = textAt(metric, 'type');
  return type.slice(0, 1).toLowerCase() + type.slice(1);
}

function toOldMetric(metric: JsonObject): JsonObject {
  const member = memberOf(metric);
  const { target, metric: named, describedObject, ...rest } = objectAt(metric, member) ?? {};
  const amount = isObject(target) ? target : {};
  const name = textAt(isObject(named) ? named : undefined, 'name');
  const selector = isObject(named) ? named.selector : undefined;
  const old: JsonObject = { ...rest };
  if (describedObject !== undefined) old.target = describedObject;
  if (name !== '') old.metricName = name;
  if (selector !== undefined) old[member === 'external' ? 'metricSelector' : 'selector'] = selector;
  if (amount.averageUtilization !== undefined) old.targetAverageUtilization = amount.averageUtilization;
  if (amount.averageValue !== undefined)
    old[member === 'object' ? 'averageValue' : 'targetAverageValue'] = amount.averageValue;
  if (amount.value !== undefined) old.targetValue = amount.value;
  else if (member === 'object') old.targetValue = '0';
  return { type: metric.type, [member]: old };
}

function toNewMetric(metric: JsonObject): JsonObject {
  const member = memberOf(metric);
  const old = objectAt(metric, member) ?? {};
  const selector = old.selector ?? old.metricSelector;
  const average = old.averageValue ?? old.targetAverageValue;
  const value = member === 'object' && average !== undefined ? undefined : old.targetValue;
  const type =
    old.targetAverageUtilization !== undefined ? 'Utilization' : average !== undefined ? 'AverageValue' : 'Value';
  const target: JsonObject = { type };
  if (value !== undefined) target.value = value;
  if (average !== undefined) target.averageValue = average;
  if (old.targetAverageUtilization !== undefined) target.averageUtilization = old.targetAverageUtilization;
  const next: JsonObject = {};
  for (const field of ['name', 'container']) if (old[field] !== undefined) next[field] = old[field];
  if (old.target !== undefined) next.describedObject = old.target;
  if (old.metricName !== undefined) next.metric = { name: old.metricName, ...(selector !== undefined && { selector }) };
  next.target = target;
  return { type: metric.type, [member]: next };
}
