/**
 * Pods: what the server decides about a pod when it is made, and which rules hold for which part of it later.
 *
 * Status is the kubelet's; on create the server says only that the pod is pending and what quality of service it gets.
 * Priorities come from the priority classes there are, and tolerations for nodes in trouble are added, as the admission
 * of the reference server does it.
 */
import {
  type FieldError,
  forbidden,
  forbiddenValue,
  type JsonObject,
  type KubeObject,
  quote,
} from '../../../api/index.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import type { KindRules, RuleContext } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import {
  ensureObject,
  fill,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { dropDisabledFields, dropDisabledStatus } from './disabled-fields.ts';
import { validatePodAnnotations, validateSeccompPairs } from './pod-annotations.ts';
import { setPodDefaults } from './pod-defaults.ts';
import { joinAddresses, validateStatusUpdate } from './pod-status.ts';
import {
  sameField,
  specOf,
  validateAnnotations,
  validateEphemeralUpdate,
  validateResize,
  validateSpecUpdate,
} from './pod-update.ts';
import { validatePodSpec } from './pod-validation.ts';
import { hostnameWarning, podWarnings } from './pod-warnings.ts';
import { qualityOfService } from './quality-of-service.ts';

export const podRules: KindRules = {
  setDefaults: (pod) => {
    setPodDefaults(ensureObject(pod as JsonObject, 'spec'));
    joinAddresses(objectAt(pod as JsonObject, 'status'));
  },
  prepareCreate: async (pod, context) => {
    const spec = ensureObject(pod as JsonObject, 'spec');
    tolerateTroubledNodes(spec);
    await setPriority(spec, pod.metadata.name ?? '', context);
    await setRuntimeClass(spec, pod.metadata.name ?? '', context);
    dropDisabledFields(spec);
    mergeLabelKeys(spec, pod.metadata.labels);
    const given = textAt(objectAt(pod as JsonObject, 'status'), 'qosClass');
    pod.status = freshStatus(spec, given, context.now);
  },
  prepareUpdate: (pod, old, { subresource }) => {
    dropDisabledFields(specOf(pod));
    if (subresource === '') keepDecided(specOf(pod), specOf(old));
    if (subresource === 'status') {
      restoreOwners(pod, old);
      const status = ensureObject(pod as JsonObject, 'status');
      const { qosClass } = objectAt(old as JsonObject, 'status') ?? {};
      if (qosClass !== undefined) fill(status, { qosClass });
      dropDisabledStatus(status);
    }
    if (subresource === 'ephemeralcontainers')
      keepAllBut(pod, old, (next) => takeEphemeralContainers(next, specOf(pod)));
    if (subresource === 'resize') keepAllBut(pod, old, (next) => takeResources(next, specOf(pod)));
  },
  validate: (pod, old, context) => {
    const subresource = context?.subresource;
    if (subresource === 'status' || subresource === 'binding') return [];
    const [spec, errors] = [specOf(pod), [] as FieldError[]];
    const { annotations } = pod.metadata;
    validatePodAnnotations(annotations, spec, 'metadata.annotations', errors);
    appendAll(errors, validatePodSpec(spec, 'spec', { isPod: true, podName: pod.metadata.name ?? '' }));
    if (textAt(spec, 'serviceAccountName') === '') refuseTokens(spec, errors);
    if (!old) validateNew(spec, annotations, errors);
    if (!old && errors.length === 0 && spec.overhead !== undefined && spec.runtimeClassName === undefined)
      throw forbidden({ group: '', plural: 'pods' }, pod.metadata.name ?? '', noOverhead);
    return errors;
  },
  validateUpdate: (pod, old, context) => {
    const subresource = context?.subresource;
    if (subresource === 'status') return validateStatusUpdate(pod, old);
    const errors: FieldError[] = [];
    if (subresource === 'resize') return validateResize(pod, old);
    validateAnnotations(pod, old, errors);
    if (subresource === 'ephemeralcontainers') return [...errors, ...validateEphemeralUpdate(pod, old)];
    return [...errors, ...validateSpecUpdate(specOf(pod), specOf(old))];
  },
  warnings: (pod, old) =>
    old
      ? [] // pods are written too often, and seldom by people
      : [...hostnameWarning(pod.metadata.name ?? ''), ...podWarnings(pod as JsonObject, '')],
  gracePeriodSeconds: (pod, { gracePeriodSeconds }) => {
    const spec = specOf(pod);
    const phase = textAt(objectAt(pod as JsonObject, 'status'), 'phase');
    if (textAt(spec, 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
    const period = gracePeriodSeconds ?? numberAt(spec, 'terminationGracePeriodSeconds') ?? 0;
    return period < 0 ? 1 : period;
  },
};

/** Without an account there is nobody to whom a token could be given. */
function refuseTokens(spec: JsonObject, errors: FieldError[]): void {
  for (const [index, volume] of objectsAt(spec, 'volumes').entries()) {
    if (!volume.projected) continue;
    for (const [number, source] of objectsAt(objectAt(volume, 'projected'), 'sources').entries()) {
      if (!source.serviceAccountToken) continue;
      const at = `spec.volumes[${index}].projected.sources[${number}].serviceAccountToken`;
      errors.push(forbiddenValue(at, 'must not be specified when serviceAccountName is not set'));
    }
  }
}

function validateNew(
  spec: JsonObject,
  annotations: Readonly<Record<string, string>> | undefined,
  errors: FieldError[],
): void {
  if (objectsAt(spec, 'ephemeralContainers').length > 0)
    errors.push(forbiddenValue('spec.ephemeralContainers', 'cannot be set on create'));
  if (textAt(spec, 'nodeName') !== '' && objectsAt(spec, 'schedulingGates').length > 0)
    errors.push(forbiddenValue('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  validateSeccompPairs(annotations, spec, 'spec', errors);
}

/** What was decided when the pod was made is not undone by leaving it out. */
function keepDecided(spec: JsonObject, old: JsonObject): void {
  for (const field of ['priority', 'preemptionPolicy'])
    if (spec[field] === undefined && old[field] !== undefined) spec[field] = old[field];
  tolerateTroubledNodes(spec);
}

const troubles = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const troubleToleration: JsonObject = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };

function tolerateTroubledNodes(spec: JsonObject): void {
  const tolerations = Array.isArray(spec.tolerations) ? (spec.tolerations as JsonObject[]) : [];
  const missing = troubles.filter((key) => !tolerations.some((toleration) => tolerates(toleration, key)));
  if (missing.length > 0) spec.tolerations = [...tolerations, ...missing.map((key) => ({ key, ...troubleToleration }))];
}

function tolerates(toleration: JsonObject, wanted: string): boolean {
  const [key, effect] = [textAt(toleration, 'key'), textAt(toleration, 'effect')];
  return (key === '' || key === wanted) && (effect === '' || effect === 'NoExecute');
}

async function setPriority(spec: JsonObject, name: string, { list, listKnown }: RuleContext): Promise<void> {
  const wanted = textAt(spec, 'priorityClassName');
  const isIt = (one: KubeObject) => (wanted === '' ? one.globalDefault === true : one.metadata.name === wanted);
  let found = (await listKnown('scheduling.k8s.io', 'priorityclasses')).find(isIt);
  if (!found && wanted !== '') found = (await list('scheduling.k8s.io', 'priorityclasses')).find(isIt);
  const pods = { group: '', plural: 'pods' };
  if (wanted !== '' && !found) throw forbidden(pods, name, `no PriorityClass with name ${wanted} was found`);
  const priority = typeof found?.value === 'number' ? found.value : 0;
  const given = numberAt(spec, 'priority');
  if (given !== undefined && given !== priority) {
    const why = `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`;
    throw forbidden(pods, name, why);
  }
  const policy = textAt(found as JsonObject | undefined, 'preemptionPolicy') || 'PreemptLowerPriority';
  if (typeof spec.preemptionPolicy === 'string' && spec.preemptionPolicy !== policy) {
    const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
    throw forbidden(pods, name, why);
  }
  if (found) spec.priorityClassName = found.metadata.name;
  spec.priority = priority;
  spec.preemptionPolicy = policy;
}

const noOverhead = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

/** A pod of a class of runtimes has the overhead of that class and goes to the nodes that have it. */
async function setRuntimeClass(spec: JsonObject, name: string, { list, listKnown }: RuleContext): Promise<void> {
  const wanted = spec.runtimeClassName;
  if (typeof wanted !== 'string') return;
  const refuse = (why: string) => forbidden({ group: '', plural: 'pods' }, name, why);
  const isIt = (one: KubeObject) => one.metadata.name === wanted;
  let found = (await listKnown('node.k8s.io', 'runtimeclasses')).find(isIt);
  found ??= (await list('node.k8s.io', 'runtimeclasses')).find(isIt);
  if (!found) throw refuse(`pod rejected: RuntimeClass ${quote(wanted)} not found`);
  const overhead = objectAt(objectAt(found as JsonObject, 'overhead'), 'podFixed');
  if (!overhead && spec.overhead !== undefined) throw refuse(noOverhead);
  if (overhead) {
    if (spec.overhead !== undefined && !sameField(spec.overhead, overhead))
      throw refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    spec.overhead = cloneJson(overhead);
  }
  const scheduling = objectAt(found as JsonObject, 'scheduling');
  if (!scheduling) return;
  const selector: JsonObject = { ...objectAt(spec, 'nodeSelector') };
  for (const [key, value] of Object.entries(objectAt(scheduling, 'nodeSelector') ?? {})) {
    const own = selector[key];
    if (own !== undefined && own !== value) {
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
      throw refuse(why);
    }
    selector[key] = value!;
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
  const tolerations = objectsAt(spec, 'tolerations');
  const added = objectsAt(scheduling, 'tolerations').filter((one) => !tolerations.some((own) => sameField(own, one)));
  if (added.length > 0) spec.tolerations = [...tolerations, ...added.map((one) => cloneJson(one))];
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Keys of labels that other pods must (not) share with this one become part of the selectors. */
function mergeLabelKeys(spec: JsonObject, labels: Readonly<Record<string, string>> | undefined): void {
  if (!labels) return;
  const affinity = objectAt(spec, 'affinity');
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const terms = objectAt(affinity, kind);
    for (const term of objectsAt(terms, hard)) mergeKeys(term, labels);
    for (const term of objectsAt(terms, soft)) mergeKeys(objectAt(term, 'podAffinityTerm') ?? {}, labels);
  }
  for (const constraint of objectsAt(spec, 'topologySpreadConstraints')) mergeKeys(constraint, labels);
}

function mergeKeys(term: JsonObject, labels: Readonly<Record<string, string>>): void {
  const selector = objectAt(term, 'labelSelector');
  if (!selector) return;
  const added = [
    ...textsAt(term, 'matchLabelKeys').map((key) => ({ key, operator: 'In' })),
    ...textsAt(term, 'mismatchLabelKeys').map((key) => ({ key, operator: 'NotIn' })),
  ].flatMap((one) => (labels[one.key] === undefined ? [] : [{ ...one, values: [labels[one.key]!] }]));
  if (added.length > 0) selector.matchExpressions = [...objectsAt(selector, 'matchExpressions'), ...added];
}

/** A quality that the writer has worked out is believed. */
function freshStatus(spec: JsonObject, quality: string, now: string): JsonObject {
  const status: JsonObject = { phase: 'Pending', qosClass: quality || qualityOfService(spec) };
  if (objectsAt(spec, 'schedulingGates').length > 0) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    const times = { lastProbeTime: null, lastTransitionTime: now };
    status.conditions = [{ type: 'PodScheduled', status: 'False', ...times, reason: 'SchedulingGated', message }];
  }
  return status;
}

function restoreOwners(pod: KubeObject, old: KubeObject): void {
  if (old.metadata.ownerReferences) pod.metadata.ownerReferences = cloneJson(old.metadata.ownerReferences);
  else delete pod.metadata.ownerReferences;
}

/** Everything but what `take` copies is as it was, metadata excepted. */
function keepAllBut(pod: KubeObject, old: KubeObject, take: (spec: JsonObject) => void): void {
  const spec = cloneJson(specOf(old));
  take(spec);
  pod.spec = spec;
  if (old.status !== undefined) pod.status = cloneJson(old.status);
}

function takeEphemeralContainers(spec: JsonObject, from: JsonObject): void {
  if (from.ephemeralContainers === undefined) delete spec.ephemeralContainers;
  else spec.ephemeralContainers = from.ephemeralContainers;
}

/** Between containers of equal names. */
function takeResources(spec: JsonObject, from: JsonObject): void {
  for (const list of ['containers', 'initContainers']) {
    const byName = new Map(objectsAt(from, list).map((container) => [container.name, container]));
    for (const container of objectsAt(spec, list)) {
      const other = byName.get(container.name);
      if (!other) continue;
      container.resources = cloneJson(other.resources ?? {});
      if (other.resizePolicy === undefined) delete container.resizePolicy;
      else container.resizePolicy = cloneJson(other.resizePolicy);
    }
  }
}
