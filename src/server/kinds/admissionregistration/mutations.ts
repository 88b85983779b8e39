/** One mutation of a policy: a patch of one of two types, made by an expression that belongs to the type. */
import { type FieldError, invalidValue, type JsonObject, requiredValue, unsupportedValue } from '../../../api/index.ts';
import { objectAt, textAt } from '../../strategy/validation/fields.ts';
import { checkExpression, type Surroundings } from './expressions.ts';

const fieldOfType: Readonly<Record<string, string>> = {
  ApplyConfiguration: 'applyConfiguration',
  JSONPatch: 'jsonPatch',
};
const TYPES = Object.keys(fieldOfType);

export function checkMutation(mutation: JsonObject, path: string, surroundings: Surroundings): FieldError[] {
  const type = textAt(mutation, 'patchType');
  if (type === '') return [requiredValue(`${path}.patchType`)];
  if (!TYPES.includes(type)) return [unsupportedValue(`${path}.patchType`, type, TYPES)];
  const errors: FieldError[] = [];
  for (const other of TYPES.filter((one) => one !== type)) {
    const field = fieldOfType[other]!;
    if (objectAt(mutation, field))
      errors.push(invalidValue(`${path}.${field}`, `{${field}}`, `must not be specified when patchType is ${type}`));
  }
  const field = fieldOfType[type]!;
  const patch = objectAt(mutation, field);
  if (!patch) return [...errors, requiredValue(`${path}.${field}`, `must be specified when patchType is ${type}`)];
  const expression = textAt(patch, 'expression').trim();
  const at = `${path}.${field}.expression`;
  if (expression === '') return [...errors, requiredValue(at)];
  return [...errors, ...checkExpression(expression, at, surroundings)];
}
