/**
 * LimitRanger: a new Pod gets the requests and limits that the LimitRanges of its namespace have for containers that say
 * none, and is refused where it asks for less or more than these allow; a claim only the latter. An annotation says what
 * was filled in.
 *
 * Templates are left alone: it is their Pods that are looked at. All faults that one LimitRange finds are told together;
 * the next is asked only if it found none. What is being deleted is not looked at any more.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { whenThere } from '../../../event-loop/when-there.ts';
import { WorkSlices } from '../../../event-loop/work-slices.ts';
import { ensureObject, objectAt, objectsAt, sortedEntries, textAt } from '../../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { concerns } from '../../concerns.ts';
import { claimFaults, podFaults } from './limit-faults.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';
/** Nobody reads more. */
const LIMIT_TOLD = 1000;

const ofNewPods = concerns(['CREATE'], ['pods']);
const ofResize = concerns(['UPDATE'], ['pods'], ['resize']);
const ofClaims = concerns(['CREATE', 'UPDATE'], ['persistentvolumeclaims']);

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  handles: (...write) => ofNewPods(...write) || ofResize(...write) || ofClaims(...write),
  admit: (a) => {
    if (a.resource.plural !== 'pods' || isGoing(a)) return;
    return ifAny(rangesFor(a), (ranges) => fillByAll(a, ranges));
  },
  validate: (a) => {
    if (isGoing(a)) return;
    return ifAny(rangesFor(a), (ranges) => mustFit(a, ranges));
  },
};

type Ranges = readonly KubeObject[];

/** Most namespaces have none. */
function ifAny(found: Ranges | Promise<Ranges>, next: (ranges: Ranges) => Promise<void>): void | Promise<void> {
  return whenThere(found, (ranges): void | Promise<void> => (ranges.length === 0 ? undefined : next(ranges)));
}

async function fillByAll(a: AdmissionAttributes, ranges: Ranges): Promise<void> {
  const slices = new WorkSlices(a);
  for (const range of ranges) await slices.run(fillPod(a.object!, range));
}

async function mustFit(a: AdmissionAttributes, ranges: Ranges): Promise<void> {
  const faultsOf = a.resource.plural === 'pods' ? podFaults : claimFaults;
  const spec = objectAt(a.object as JsonObject, 'spec') ?? {};
  const slices = new WorkSlices(a);
  for (const range of ranges) {
    const told = new Set<string>();
    for (const limit of limitsOf(range))
      for (const faults of faultsOf(limit, spec)) {
        for (const fault of faults) if (told.size < LIMIT_TOLD) told.add(fault);
        if (slices.isOver) await slices.pause();
      }
    if (told.size > 0) throw refuse(a, told.size === 1 ? [...told][0]! : `[${[...told].join(', ')}]`);
  }
}

function isGoing({ oldObject }: AdmissionAttributes): boolean {
  return oldObject?.metadata.deletionTimestamp !== undefined;
}

function rangesFor({ context, namespace }: AdmissionAttributes): Ranges | Promise<Ranges> {
  return context.listKnown('', 'limitranges', namespace);
}

function limitsOf(range: KubeObject): readonly JsonObject[] {
  return objectsAt(objectAt(range as JsonObject, 'spec'), 'limits');
}

/** One container at a time. */
function* fillPod(pod: KubeObject, range: KubeObject): Generator<undefined, void, undefined> {
  const requests: JsonObject = {};
  const limits: JsonObject = {};
  for (const limit of limitsOf(range)) {
    if (textAt(limit, 'type') !== 'Container') continue;
    Object.assign(requests, objectAt(limit, 'defaultRequest'));
    Object.assign(limits, objectAt(limit, 'default'));
  }
  const spec = ensureObject(pod as JsonObject, 'spec');
  const filled: string[] = [];
  for (const [list, what] of [
    ['containers', 'container'],
    ['initContainers', 'init container'],
  ] as const)
    for (const container of objectsAt(spec, list)) {
      const name = `for ${what} ${textAt(container, 'name')}`;
      const resources = ensureObject(container, 'resources');
      const added = { request: fillIn(resources, 'requests', requests), limit: fillIn(resources, 'limits', limits) };
      for (const [part, names] of Object.entries(added))
        if (names.length > 0) filled.push(`${names.join(', ')} ${part} ${name}`);
      yield;
    }
  if (filled.length === 0) return;
  const text = `LimitRanger plugin set: ${filled.join('; ')}`;
  pod.metadata.annotations = { ...pod.metadata.annotations, [ANNOTATION]: text };
}

/** The names of what was missing, in order. */
function fillIn(resources: JsonObject, part: 'requests' | 'limits', usual: JsonObject): string[] {
  const given = objectAt(resources, part) ?? {};
  const missing = sortedEntries(usual).filter(([name]) => !Object.hasOwn(given, name));
  if (missing.length > 0) resources[part] = { ...given, ...Object.fromEntries(missing) };
  return missing.map(([name]) => name);
}
