/**
 * The strategy of CustomResourceDefinitions: what it fills in, what it refuses, what may not change once objects
 * exist, and what its deletion leaves behind until the last of them is gone.
 */
import { type FieldError, type JsonObject, type KubeObject, quote } from '../../api/index.ts';
import { schemasIn } from '../../schemas/structural/schema-form.ts';
import { isKnownFormat } from '../../schemas/structural/string-formats.ts';
import { asObject } from '../../schemas/structural/structural.ts';
import type { Strategy } from '../strategy/strategy.ts';
import { immutable } from '../strategy/validation/field-table.ts';
import { sameValue } from '../strategy/validation/fields.ts';
import { asDefinition, CLEANUP_FINALIZER, type Definition, isConditionTrue, withCondition } from './definition.ts';
import { validateDefinition } from './definition-validation.ts';

export const definitionStrategy: Strategy = {
  setDefaults: (object) => setDefinitionDefaults(asDefinition(object)),
  prepareCreate: (object) => {
    object.spec ??= {};
    object.status = statusOfNew(asDefinition(object));
  },
  prepareUpdate: (object, old, { subresource }) => {
    object.spec ??= {};
    object.status ??= structuredClone(old.status) as JsonObject;
    const { status } = asDefinition(object);
    if (subresource === '' || !status.storedVersions?.length) addStoredVersion(asDefinition(object));
  },
  validate: (object, old) => validateDefinition(asDefinition(object), old && asDefinition(old)),
  warnings: (object, old) => {
    const before = old ? unknownFormats(asDefinition(old)) : new Set<string>();
    const found = [...unknownFormats(asDefinition(object))].filter((format) => !before.has(format));
    return found.sort().map((format) => `unrecognized format ${quote(format)}`);
  },
  validateUpdate: (object, old) => changeFaults(asDefinition(object), asDefinition(old)),
  markDeleted: (object, now) => markTerminating(object, now),
};

export function statusOfNew({ spec }: Definition): JsonObject {
  const storage = spec?.versions?.find((version) => version.storage)?.name;
  return {
    conditions: null,
    acceptedNames: { plural: '', kind: '' },
    storedVersions: storage === undefined ? [] : [storage],
  };
}

function setDefinitionDefaults({ spec, status }: Definition): void {
  if (!spec) return;
  const stored = spec.versions?.find(({ storage }) => storage)?.name;
  if (asObject(status) && !status.storedVersions?.length && stored !== undefined) status.storedVersions = [stored];
  if (spec.names) {
    const { names } = spec;
    if (names.kind && !names.singular) names.singular = names.kind.toLowerCase();
    if (names.kind && !names.listKind) names.listKind = `${names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  const service = asObject(asObject(spec.conversion.webhook?.clientConfig)?.service);
  if (service) service.port ??= 443;
}

/** Formats that nobody knows say nothing of values, which their writer may not know. */
function unknownFormats({ spec }: Definition): Set<string> {
  const found = new Set<string>();
  const open = (spec.versions ?? []).map(({ schema }) => schema?.openAPIV3Schema);
  for (let schema = open.pop(); open.length > 0 || schema; schema = open.pop()) {
    if (!schema) continue;
    const { format } = schema;
    if (typeof format === 'string' && format !== '' && !isKnownFormat(format)) found.add(format);
    for (const [child] of schemasIn(schema)) open.push(child);
  }
  return found;
}

/** From now on objects may be stored in that version. */
function addStoredVersion({ spec, status }: Definition): void {
  status.storedVersions ??= [];
  for (const { name, storage } of spec.versions ?? [])
    if (storage && !status.storedVersions.includes(name)) status.storedVersions.push(name);
}

function changeFaults(next: Definition, old: Definition): FieldError[] {
  const fields: [path: string, value: unknown, before: unknown][] = [
    ['spec.group', next.spec.group, old.spec.group],
    ['spec.names.plural', next.spec.names?.plural, old.spec.names.plural],
  ];
  // Before it is established nobody can have made an object of it.
  if (isConditionTrue(old, 'Established')) {
    fields.push(
      ['spec.scope', next.spec.scope, old.spec.scope],
      ['spec.names.kind', next.spec.names?.kind, old.spec.names.kind],
    );
  }
  return fields.flatMap(([path, value, before]) => (sameValue(value, before) ? [] : [immutable(path, value)]));
}

function markTerminating(object: KubeObject, now: string): void {
  const { metadata, status } = asDefinition(object);
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(CLEANUP_FINALIZER)) metadata.finalizers = [...finalizers, CLEANUP_FINALIZER];
  status.conditions = withCondition(
    status.conditions,
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
    now,
  );
}
