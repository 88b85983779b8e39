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
      return annotations[RBAC_AUTO_UPDATE] === 'false' ? undefined : withRules(stored, wanted);
    case 'RoleBinding':
    case 'ClusterRoleBinding':
      return annotations[RBAC_AUTO_UPDATE] === 'false' ? undefined : withSubjects(stored, wanted);
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

function withRules(stored: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const gathers = field(wanted, 'aggregationRule');
  if (gathers)
    return isDeepStrictEqual(field(stored, 'aggregationRule'), gathers)
      ? withMarks(stored, wanted)
      : withMarks({ ...stored, aggregationRule: gathers }, wanted, true);
  // Mostly they are the very same: nothing has to be weighed against anything.
  if (isDeepStrictEqual(field(stored, 'rules'), field(wanted, 'rules'))) return withMarks(stored, wanted);
  const missing = joinPieces(missingFrom(rulesIn(stored), rulesIn(wanted)));
  if (missing.length === 0) return withMarks(stored, wanted);
  const rules: PolicyRule[] = [...rulesIn(stored), ...missing];
  return withMarks({ ...stored, rules: rules as unknown as JsonValue }, wanted, true);
}

function withSubjects(stored: KubeObject, wanted: KubeObject): KubeObject | undefined {
  const there = (field(stored, 'subjects') as JsonValue[] | undefined) ?? [];
  const missing = ((field(wanted, 'subjects') as JsonValue[] | undefined) ?? []).filter(
    (subject) => !there.some((other) => isDeepStrictEqual(other, subject)),
  );
  if (missing.length === 0) return withMarks(stored, wanted);
  return withMarks({ ...stored, subjects: [...there, ...missing] }, wanted, true);
}

/** With the labels and annotations that it lacks; those of the owner win. Undefined: it is as it was. */
function withMarks(object: KubeObject, wanted: KubeObject, isChanged = false): KubeObject | undefined {
  const { metadata } = object;
  const { labels, annotations } = wanted.metadata;
  if (!isChanged && hasAll(metadata.labels, labels) && hasAll(metadata.annotations, annotations)) return undefined;
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
  };
}

function hasAll(there: Record<string, string> = {}, wanted: Record<string, string> = {}): boolean {
  return Object.keys(wanted).every((key) => Object.hasOwn(there, key));
}

function field(object: KubeObject, name: string): JsonValue | undefined {
  return (object as unknown as JsonObject)[name];
}
