/**
 * Pods: what the server decides about a pod when it is made, and how little may change afterwards.
 *
 * Status is the kubelet's; on create the server says only that the pod is pending and what quality of service it gets.
 * Priorities come from the priority classes there are, and tolerations for nodes in trouble are added, as the admission
 * of the reference server does it.
 */
import {
  type FieldError,
  forbidden,
  forbiddenValue,
  invalid,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
} from '../../../api/index.ts';
import { cloneJson } from '../../codec/json-objects.ts';
import { appendAll } from '../engine/append-all.ts';
import { ensureObject, fill, isNumber, numberAt, objectAt, objectsAt, sameValue, textAt } from '../engine/fields.ts';
import { podSpecText } from '../engine/internal-text.ts';
import { lineDiff } from '../engine/line-diff.ts';
import type { KindRules, RuleContext } from '../kind-rules.ts';
import { setPodSpecDefaults } from './pod-defaults.ts';
import { validatePodSpec } from './pod-validation.ts';
import { qualityOfService } from './quality-of-service.ts';

export const podRules: KindRules = {
  setDefaults: (pod) => {
    const spec = ensureObject(pod as JsonObject, 'spec');
    setPodSpecDefaults(spec);
    fill(spec, { enableServiceLinks: true });
    for (const list of ['containers', 'initContainers']) {
      for (const container of objectsAt(spec, list)) setContainerDefaults(container, spec.hostNetwork === true);
    }
    joinAddresses(objectAt(pod as JsonObject, 'status'));
  },
  prepareCreate: async (pod, context) => {
    const spec = ensureObject(pod as JsonObject, 'spec');
    tolerateTroubledNodes(spec);
    await setPriority(spec, pod.metadata.name ?? '', context);
    pod.status = freshStatus(spec);
  },
  prepareUpdate: (pod, old, { subresource }) => {
    if (subresource === 'status') {
      restoreOwners(pod, old);
      const { qosClass } = objectAt(old as JsonObject, 'status') ?? {};
      if (qosClass !== undefined) fill(ensureObject(pod as JsonObject, 'status'), { qosClass });
    }
    if (subresource === 'ephemeralcontainers')
      keepAllBut(pod, old, (next) => takeEphemeralContainers(next, specOf(pod)));
    if (subresource === 'resize') keepAllBut(pod, old, (next) => takeResources(next, specOf(pod)));
    if (subresource === '') refuseSideways(pod, old);
  },
  validate: (pod) => validatePodSpec(objectAt(pod as JsonObject, 'spec') ?? {}, 'spec'),
  validateUpdate: (pod, old) => {
    const [next, before] = [specOf(pod), specOf(old)];
    if (sameValue(next, before)) return [];
    // What only a subresource may write has been dealt with above, where it is known which one is written.
    return validateSpecUpdate(withoutSideways(next, before), before);
  },
  gracePeriodSeconds: (pod, { gracePeriodSeconds }) => {
    const spec = specOf(pod);
    const phase = textAt(objectAt(pod as JsonObject, 'status'), 'phase');
    if (textAt(spec, 'nodeName') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
    const period = gracePeriodSeconds ?? numberAt(spec, 'terminationGracePeriodSeconds') ?? 0;
    return period < 0 ? 1 : period;
  },
};

function specOf(pod: KubeObject): JsonObject {
  return objectAt(pod as JsonObject, 'spec') ?? {};
}

/** What is limited is requested, and on the network of the host a port is a port of the host. */
function setContainerDefaults(container: JsonObject, usesHostNetwork: boolean): void {
  const resources = objectAt(container, 'resources');
  const limits = objectAt(resources, 'limits');
  if (resources && limits) fill(ensureObject(resources, 'requests'), limits);
  if (!usesHostNetwork) return;
  for (const port of objectsAt(container, 'ports')) if (!numberAt(port, 'hostPort')) port.hostPort = port.containerPort;
}

/** An address on its own and the first of the list are the same, whichever of them was written. */
function joinAddresses(status: JsonObject | undefined): void {
  if (!status) return;
  for (const [one, all] of addressFields) {
    const [first] = objectsAt(status, all);
    if (status[one] !== undefined && !first) status[all] = [{ ip: status[one] }];
    else if (status[one] === undefined && first) status[one] = first.ip;
  }
}
const addressFields = [
  ['podIP', 'podIPs'],
  ['hostIP', 'hostIPs'],
] as const;

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
  if (found) spec.priorityClassName = found.metadata.name;
  spec.priority = priority;
  fill(spec, { preemptionPolicy: (found?.preemptionPolicy as JsonValue | undefined) ?? 'PreemptLowerPriority' });
}

function freshStatus(spec: JsonObject): JsonObject {
  const status: JsonObject = { phase: 'Pending', qosClass: qualityOfService(spec) };
  if (objectsAt(spec, 'schedulingGates').length > 0) {
    const message = 'Scheduling is blocked due to non-empty scheduling gates';
    const times = { lastProbeTime: null, lastTransitionTime: null };
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
    }
  }
}

/** What belongs to a subresource is as it was. */
function withoutSideways(next: JsonObject, old: JsonObject): JsonObject {
  const spec = cloneJson(next);
  spec.ephemeralContainers = old.ephemeralContainers;
  takeResources(spec, old);
  return spec;
}

/** The object itself may not be used to write what belongs to a subresource. */
function refuseSideways(pod: KubeObject, old: KubeObject): void {
  const [next, before] = [specOf(pod), specOf(old)];
  if (sameValue(next, before) || sameValue(next, withoutSideways(next, before))) return;
  const errors = validateSpecUpdate(next, before);
  if (errors.length > 0) throw invalid({ kind: 'Pod', group: '' }, pod.metadata.name ?? '', errors);
}

const mayChange = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

function validateSpecUpdate(next: JsonObject, old: JsonObject): FieldError[] {
  if (sameValue(next, old)) return [];
  const errors: FieldError[] = [];
  for (const list of ['containers', 'initContainers']) {
    if (objectsAt(next, list).length === objectsAt(old, list).length) continue;
    errors.push(forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers'));
  }
  if (errors.length > 0) return errors;
  appendAll(errors, validateDeadline(next.activeDeadlineSeconds, old.activeDeadlineSeconds));
  const kept = objectsAt(old, 'tolerations').every((toleration) =>
    objectsAt(next, 'tolerations').some((other) => sameValue(withoutSeconds(other), withoutSeconds(toleration))),
  );
  if (!kept)
    errors.push(
      forbiddenValue('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds'),
    );
  const munged = withMutableFieldsOf(old, next);
  if (!sameValue(munged, old)) {
    const difference = lineDiff(podSpecText(old), podSpecText(munged));
    errors.push(forbiddenValue('spec', `pod updates may not change fields other than ${mayChange}\n${difference}`));
  }
  return errors;
}

function validateDeadline(next: JsonValue | undefined, old: JsonValue | undefined): FieldError[] {
  if (!isNumber(old) || next === old) return [];
  const path = 'spec.activeDeadlineSeconds';
  if (!isNumber(next)) return [invalidValue(path, null, 'must not update from a positive integer to nil value')];
  return next > old ? [invalidValue(path, next, 'must be less than or equal to previous value')] : [];
}

function withoutSeconds({ tolerationSeconds: _seconds, ...rest }: JsonObject): JsonObject {
  return rest;
}

/** `next`, with the fields that may change as they were: what differs then must not. */
function withMutableFieldsOf(old: JsonObject, next: JsonObject): JsonObject {
  const munged = cloneJson(next);
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of objectsAt(munged, list).entries()) {
      container.image = objectsAt(old, list)[index]?.image;
    }
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations']) munged[field] = old[field];
  if ((numberAt(old, 'terminationGracePeriodSeconds') ?? 0) < 0 && next.terminationGracePeriodSeconds === 1)
    munged.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  const gates = objectsAt(old, 'schedulingGates');
  const isSubset = objectsAt(next, 'schedulingGates').every((gate) => gates.some((one) => one.name === gate.name));
  if (isSubset) munged.schedulingGates = old.schedulingGates; // gates may be taken away, never added
  return munged;
}
