/** One mutation of a policy: a patch of one of two types, made by an expression that belongs to the type. */
import { type FieldError, invalidValue, type JsonObject, requiredValue, unsupportedValue } from '../../../api/index.ts';
import { patchType } from '../../cel/patch-types.ts';
import { type CelType, listOf } from '../../cel/values/types.ts';
import { objectAt, textAt } from '../../strategy/validation/fields.ts';
import { checkExpression, type Surroundings } from './expressions.ts';

const fieldOfType: Readonly<Record<string, string>> = {
  ApplyConfiguration: 'applyConfiguration',
  JSONPatch: 'jsonPatch',
};
const TYPES = Object.keys(fieldOfType);

/** What the expression of each must give. */
export const typesOfPatch: Readonly<Record<string, CelType>> = {
  ApplyConfiguration: { kind: 'object', name: 'Object', fields: new Map() },
  JSONPatch: listOf(patchType),
};

export function checkMutation(mutation: JsonObject, path: string, surroundings: Surroundings): FieldError[] {
  const type = textAt(mutation, 'patchType');
  if (type === '') return [requiredValue(`${path}.patchType`)];
  if (!TYPES.includes(type)) return [unsupportedValue(`${path}.patchType`, type, TYPES)];
  const field = fieldOfType[type]!;
  const patch = objectAt(mutation, field);
  const errors = patch ? [] : [requiredValue(`${path}.${field}`, `must be specified when patchType is ${type}`)];
  for (const other of TYPES.filter((one) => one !== type)) {
    const unwanted = fieldOfType[other]!;
    if (!objectAt(mutation, unwanted)) continue;
    const why = `must not be specified when patchType is ${type}`;
    errors.push(invalidValue(`${path}.${unwanted}`, `{${unwanted}}`, why));
  }
  if (!patch) return errors;
  const expression = textAt(patch, 'expression').trim();
  const at = `${path}.${field}.expression`;
  if (expression === '') return [...errors, requiredValue(at)];
  return [
    ...errors,
    ...checkExpression(expression, at, { ...surroundings, hasPatchTypes: true }, [typesOfPatch[type]!]),
  ];
}
