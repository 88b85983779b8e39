/**
 * What a later start does with the objects of the first: what the server needs and somebody took away comes back, what
 * somebody added stays. An owner who wants to be left alone says so in an annotation.
 *
 * Pure: from the object that is stored and the one that is wanted to the one to store, or undefined where nothing has
 * to change.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue, KubeObject } from '../../api/index.ts';
import { RBAC_AUTO_UPDATE } from './bootstrap-objects.ts';
import { joinPieces, type PolicyRule, rulesIn } from './policy-rule.ts';
import { missingFrom } from './rule-cover.ts';

export function reconciled(stored: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const { annotations = {} } = stored.metadata;
  switch (wanted.kind) {
    case 'Role':
    case 'ClusterRole':
      return annotations[RBAC_AUTO_UPDATE] === 'false' ? undefined : changed(stored, withRules(stored, wanted));
    case 'RoleBinding':
    case 'ClusterRoleBinding':
      return annotations[RBAC_AUTO_UPDATE] === 'false' ? undefined : changed(stored, withSubjects(stored, wanted));
    default:
      return undefined;
  }
}

/** The role a binding is for cannot be changed: such a binding is made anew. */
export function refersElsewhere(stored: KubeObject, wanted: KubeObject): boolean {
  return (
    wanted.kind.endsWith('Binding') &&
    stored.metadata.annotations?.[RBAC_AUTO_UPDATE] !== 'false' &&
    !isDeepStrictEqual(field(stored, 'roleRef'), field(wanted, 'roleRef'))
  );
}

function withRules(stored: KubeObject, wanted: KubeObject): KubeObject {
  const object: KubeObject = { ...stored, metadata: withMarks(stored, wanted) };
  if (field(wanted, 'aggregationRule')) return { ...object, ...pick(wanted, 'aggregationRule') };
  // Mostly they are the very same: nothing has to be weighed against anything.
  if (isDeepStrictEqual(field(stored, 'rules'), field(wanted, 'rules'))) return object;
  const missing = joinPieces(missingFrom(rulesIn(stored), rulesIn(wanted)));
  const rules: PolicyRule[] = [...rulesIn(stored), ...missing];
  return missing.length === 0 ? object : { ...object, rules: rules as unknown as JsonValue };
}

function withSubjects(stored: KubeObject, wanted: KubeObject): KubeObject {
  const there = (field(stored, 'subjects') as JsonValue[] | undefined) ?? [];
  const missing = ((field(wanted, 'subjects') as JsonValue[] | undefined) ?? []).filter(
    (subject) => !there.some((other) => isDeepStrictEqual(other, subject)),
  );
  const object: KubeObject = { ...stored, metadata: withMarks(stored, wanted) };
  return missing.length === 0 ? object : { ...object, subjects: [...there, ...missing] };
}

/** Labels and annotations of the owner win. */
function withMarks({ metadata }: KubeObject, wanted: KubeObject): KubeObject['metadata'] {
  const { labels, annotations } = wanted.metadata;
  return {
    ...metadata,
    labels: { ...metadata.labels, ...absent(labels, metadata.labels) },
    annotations: { ...metadata.annotations, ...absent(annotations, metadata.annotations) },
  };
}

function absent(wanted: Record<string, string> = {}, there: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([key]) => !Object.hasOwn(there, key)));
}

function changed(stored: KubeObject, object: KubeObject): KubeObject | undefined {
  return isDeepStrictEqual(stored, object) ? undefined : object;
}

function pick(object: KubeObject, name: string): { [name: string]: JsonValue } {
  const value = field(object, name);
  return value === undefined ? {} : { [name]: value };
}

function field(object: KubeObject, name: string): JsonValue | undefined {
  return (object as unknown as JsonObject)[name];
}
