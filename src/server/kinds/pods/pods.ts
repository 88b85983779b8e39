/**
 * Pods: what the server decides about a pod when it is made, and which rules hold for which part of it later.
 *
 * Status is the kubelet's; on create the server says only that the pod is pending and what quality of service it gets.
 * Priority, tolerations and what a class of runtimes brings are set before, by admission.
 */
import { type FieldError, forbiddenValue, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { cloneJson } from '../../codec/json/json-objects.ts';
import type { Strategy } from '../../strategy/strategy.ts';
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
import { mirrorPod, validatePodAnnotations } from './pod-annotations.ts';
import { dropFormerContainers, setPodDefaults } from './pod-defaults.ts';
import { takeResources, validateResize } from './pod-resize.ts';
import { addressWarnings, joinAddresses, keepObserved, roundObserved, validateStatusUpdate } from './pod-status.ts';
import { specOf, validateAnnotations, validateEphemeralUpdate, validateSpecUpdate } from './pod-update.ts';
import { validatePodSpec } from './pod-validation.ts';
import { hostnameWarning, podWarnings } from './pod-warnings.ts';
import { qualityOfService } from './quality-of-service.ts';
import { takeAppArmor, validateProfilePairs } from './security/profile-annotations.ts';

export const podStrategy: Strategy = {
  setDefaults: (pod) => {
    dropFormerContainers(pod.metadata as JsonObject);
    setPodDefaults(ensureObject(pod as JsonObject, 'spec'));
    const status = objectAt(pod as JsonObject, 'status');
    joinAddresses(status);
    roundObserved(status);
  },
  prepareCreate: (pod, context) => {
    const spec = ensureObject(pod as JsonObject, 'spec');
    dropDisabledFields(spec);
    takeAppArmor(pod.metadata.annotations, spec, context.warn);
    mergeLabelKeys(spec, pod.metadata.labels);
    const given = textAt(objectAt(pod as JsonObject, 'status'), 'qosClass');
    pod.status = freshStatus(spec, given, context.now);
  },
  prepareUpdate: (pod, old, { subresource }) => {
    dropDisabledFields(specOf(pod));
    if (subresource === 'status') {
      const status = ensureObject(pod as JsonObject, 'status');
      const { qosClass } = objectAt(old as JsonObject, 'status') ?? {};
      if (qosClass !== undefined) fill(status, { qosClass });
      keepObserved(status, objectAt(old as JsonObject, 'status') ?? {});
      dropDisabledStatus(status);
    }
  },
  keepOther: (pod, old, subresource) => {
    if (subresource === 'ephemeralcontainers') keepAllBut(pod, old, withEphemeralContainers(specOf(old), specOf(pod)));
    if (subresource !== 'resize') return;
    const resized = takeResources(cloneJson(specOf(old)), specOf(pod));
    if (resized) keepAllBut(pod, old, resized);
  },
  validate: (pod, old, context) => {
    const subresource = context?.subresource;
    if (subresource === 'status' || subresource === 'binding') return [];
    const [spec, errors] = [specOf(pod), [] as FieldError[]];
    const { annotations } = pod.metadata;
    const hasProfiles = validatePodAnnotations(annotations, spec, 'metadata.annotations', errors);
    const isStatic = annotations?.[mirrorPod] !== undefined;
    appendAll(errors, validatePodSpec(spec, 'spec', { isPod: true, isStatic, podName: pod.metadata.name ?? '' }));
    if (textAt(spec, 'serviceAccountName') === '') refuseTokens(spec, errors);
    if (!old) validateNew(spec, errors);
    if (!old && hasProfiles) validateProfilePairs(annotations, spec, 'spec', errors);
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
  warnings: (pod, old, { subresource }) => {
    if (subresource === 'status') return addressWarnings(objectAt(pod as JsonObject, 'status'));
    if (old) return []; // pods are written too often, and seldom by people
    return [...hostnameWarning(pod.metadata.name ?? ''), ...podWarnings(pod as JsonObject, '')];
  },
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

function validateNew(spec: JsonObject, errors: FieldError[]): void {
  if (objectsAt(spec, 'ephemeralContainers').length > 0)
    errors.push(forbiddenValue('spec.ephemeralContainers', 'cannot be set on create'));
  if (textAt(spec, 'nodeName') !== '' && objectsAt(spec, 'schedulingGates').length > 0)
    errors.push(forbiddenValue('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
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

/** Of what else is sent with a part of a pod nothing counts. */
function keepAllBut(pod: KubeObject, old: KubeObject, spec: JsonObject): void {
  pod.spec = spec;
  if (old.status !== undefined) pod.status = cloneJson(old.status);
  const [metadata, before] = [pod.metadata as JsonObject, old.metadata as JsonObject];
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = cloneJson(before[field]);
  }
}

function withEphemeralContainers(old: JsonObject, { ephemeralContainers }: JsonObject): JsonObject {
  const { ephemeralContainers: _before, ...spec } = cloneJson(old);
  return ephemeralContainers === undefined ? spec : { ...spec, ephemeralContainers };
}
