/**
 * Lists and maps that were sent with nothing in them. They are left out when a body is read, as kube-apiserver leaves
 * them out of what it stores, owns and prints; but until then some of its rules tell an empty one from none, and ask
 * here.
 *
 * Remembered with the struct they were sent in, and forgotten with it: a copy has none. Only the fields in `told` count.
 */
import type { JsonObject } from './json.ts';

const givenEmpty = new WeakMap<JsonObject, string[]>();

/** By struct and field: those of which a rule asks. */
const told: ReadonlySet<string> = new Set([
  'EphemeralContainerCommon.ports',
  'EphemeralContainerCommon.resizePolicy',
  'EphemeralContainerCommon.restartPolicyRules',
  'HPAScalingRules.policies',
  'JSONSchemaProps.allOf',
  'JSONSchemaProps.anyOf',
  'JSONSchemaProps.definitions',
  'JSONSchemaProps.dependencies',
  'JSONSchemaProps.enum',
  'JSONSchemaProps.oneOf',
  'JSONSchemaProps.patternProperties',
  'JSONSchemaProps.x-kubernetes-list-map-keys',
  'LabelSelector.matchExpressions',
  'LabelSelector.matchLabels',
  'LabelSelectorRequirement.values',
  'MutatingWebhook.matchConditions',
  'MutatingWebhook.rules',
  'ObjectMeta.finalizers',
  'ObjectMeta.labels',
  'ObjectMeta.ownerReferences',
  'PodSpec.overhead',
  'ValidatingWebhook.matchConditions',
  'ValidatingWebhook.rules',
]);

/** Whether it counts that `struct.field` was sent with nothing in it. */
export function isEmptyTold(struct: string, field: string): boolean {
  return told.has(`${struct}.${field}`);
}

export function noteGivenEmpty(owner: JsonObject, field: string): void {
  const fields = givenEmpty.get(owner);
  if (fields) fields.push(field);
  else givenEmpty.set(owner, [field]);
}

export function isGivenEmpty(owner: JsonObject | undefined, field: string): boolean {
  return owner !== undefined && givenEmptyIn(owner).includes(field);
}

/** The fields of a struct that were. */
export function givenEmptyIn(owner: JsonObject): readonly string[] {
  return givenEmpty.get(owner) ?? none;
}

const none: readonly string[] = [];

/** Whether anything in or below a value was. */
export function hasGivenEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasGivenEmpty);
  return givenEmpty.has(value as JsonObject) || Object.values(value).some(hasGivenEmpty);
}
