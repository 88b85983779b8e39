/**
 * A mutation of type JSONPatch: the operations that the expression gives, applied in order. One whose `test` fails
 * changes nothing and is no error.
 */
import type { JsonObject, JsonValue } from '../../../../api/index.ts';
import { isPatch } from '../../../cel/patch-types.ts';
import { StructValue } from '../../../cel/values/struct-types.ts';
import { CelError, type Value } from '../../../cel/values/values.ts';
import { isObject } from '../../../codec/json/json-objects.ts';
import { jsonPatch, patchFaultOf } from '../../../patch/json-patch.ts';
import { MutationError } from './mutation-error.ts';
import { misplacedNames, valueToJson } from './value-to-json.ts';

export function applyJsonPatch(object: JsonObject, operations: Value): JsonObject {
  if (!Array.isArray(operations) || !operations.every(isPatch))
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
  const patch = operations.map(operationOf);
  try {
    const patched = jsonPatch(object, patch);
    if (isObject(patched)) return patched;
  } catch (err) {
    const fault = patchFaultOf(err);
    if (!fault) throw err;
    if (fault.isFailedTest) return object;
    throw new MutationError(`JSON Patch: ${fault.message}`);
  }
  throw new MutationError('JSON Patch: the result is no object');
}

function operationOf(operation: StructValue): JsonObject {
  const made: JsonObject = { op: textOf(operation, 'op'), path: textOf(operation, 'path') };
  const from = textOf(operation, 'from');
  if (from !== '') made.from = from;
  if (operation.has('value')) made.value = jsonOf(operation.get('value'));
  return made;
}

function textOf(operation: StructValue, field: string): string {
  return (operation.get(field) as string | undefined) ?? '';
}

function jsonOf(value: Value): JsonValue {
  const misplaced = value instanceof StructValue ? misplacedNames(value, value.structName) : [];
  if (misplaced.length > 0) throw new MutationError(`type mismatch: ${misplaced.join('\n')}`);
  try {
    return valueToJson(value);
  } catch (err) {
    if (!(err instanceof CelError)) throw err;
    throw new MutationError(
      `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${err.message}`,
    );
  }
}
