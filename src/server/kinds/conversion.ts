/**
 * Objects that can be had in more than one form: events (`v1` and `events.k8s.io/v1`) and autoscalers (`v1` and `v2`).
 *
 * Pure: what is given is not changed, and what does not differ is shared with the answer. Converting there and back
 * gives the same object, but for what kube-apiserver loses as well: the current metrics of an autoscaler other
 * than the processor's, as the older form of it shows that one alone.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { Resource } from '../registry/resource.ts';
import { toNewAutoscaler, toOldAutoscaler } from './autoscaling/autoscaler-conversion.ts';

/** From the form of one resource to that of another. */
export function convertObject(object: KubeObject, from: Resource, to: Resource): KubeObject {
  if (from.groupVersion === to.groupVersion || from.kind !== to.kind) return object;
  const convert = converters[`${from.kind} ${to.groupVersion}`];
  return convert ? convert(object) : { ...object, apiVersion: to.groupVersion };
}

/** Whether objects look otherwise in the form of the other resource. */
export function isOtherForm(from: Resource, to: Resource): boolean {
  return from.groupVersion !== to.groupVersion && Object.hasOwn(converters, `${to.kind} ${to.groupVersion}`);
}

/** The same where somebody may have to be asked: custom kinds whose definition names a webhook. */
export function convertVersion(
  object: KubeObject,
  from: Resource,
  to: Resource,
  signal: AbortSignal,
): KubeObject | Promise<KubeObject> {
  const convert = to.custom?.convert;
  if (!convert || from.groupVersion === to.groupVersion) return convertObject(object, from, to);
  return convert([object], to.groupVersion, signal).then(([converted]) => converted!);
}

const converters: Readonly<Record<string, (object: KubeObject) => KubeObject>> = {
  'Event events.k8s.io/v1': toNewEvent,
  'Event v1': toCoreEvent,
  'HorizontalPodAutoscaler autoscaling/v1': toOldAutoscaler,
  'HorizontalPodAutoscaler autoscaling/v2': toNewAutoscaler,
};

/** The same fields by other names, in the order of the newer form. */
const eventFields: readonly (readonly [core: string, other: string])[] = [
  ['metadata', 'metadata'],
  ['eventTime', 'eventTime'],
  ['series', 'series'],
  ['reportingComponent', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
  ['action', 'action'],
  ['reason', 'reason'],
  ['involvedObject', 'regarding'],
  ['related', 'related'],
  ['message', 'note'],
  ['type', 'type'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

function toNewEvent(event: KubeObject): KubeObject {
  const fields: JsonObject = {};
  for (const [core, other] of eventFields) {
    const value = event[core];
    if (value === undefined || value === '') continue; // here the two names of the reporter may be left out
    fields[other] = value as JsonObject;
  }
  return { kind: 'Event', apiVersion: 'events.k8s.io/v1', ...fields } as unknown as KubeObject;
}

function toCoreEvent(event: KubeObject): KubeObject {
  const fields: JsonObject = {};
  for (const [core, other] of eventFields) {
    const value = event[other];
    if (value !== undefined) fields[core] = value as JsonObject;
  }
  fields.reportingComponent ??= '';
  fields.reportingInstance ??= '';
  return { kind: 'Event', apiVersion: 'v1', ...fields } as unknown as KubeObject;
}
