/**
 * What an expression made, as JSON. An object that was made by name must lie where its name says:
 * `Object.spec{...}` below `spec` of an `Object{...}`, and nowhere else.
 */
import type { JsonObject, JsonValue } from '../../../../api/index.ts';
import { durationText, timestampText } from '../../../cel/library/conversions.ts';
import { StructValue } from '../../../cel/values/struct-types.ts';
import { CelError, Duration, kindOf, Timestamp, Uint, type Value } from '../../../cel/values/values.ts';
import { setKey } from '../../../codec/json/json-objects.ts';

export function valueToJson(value: Value): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value;
  if (typeof value === 'bigint') return wholeNumber(value);
  if (value instanceof Uint) return wholeNumber(value.value);
  if (Array.isArray(value)) return value.map(valueToJson);
  if (value instanceof Map) return mapToJson(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  throw new CelError(`type conversion error from '${kindOf(value)}' to JSON`);
}

function mapToJson(map: ReadonlyMap<unknown, Value>): JsonObject {
  const object: JsonObject = {};
  for (const [key, value] of map) {
    if (typeof key !== 'string')
      throw new CelError(`map key ${JSON.stringify(String(key))} is of type ${kindOf(key)}, not string`);
    setKey(object, key, valueToJson(value));
  }
  return object;
}

function wholeNumber(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** What is wrong with the names of objects in it; empty if nothing. */
export function misplacedNames(value: Value, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => misplacedNames(one, path));
  if (!(value instanceof Map)) return [];
  if (!(value instanceof StructValue)) return [...value.values()].flatMap((one) => misplacedNames(one, path));
  const name = JSON.stringify(value.structName);
  const errors =
    value.structName === path
      ? []
      : [
          `unexpected type name ${name}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
        ];
  for (const [field, one] of value) for (const error of misplacedNames(one, `${path}.${field}`)) errors.push(error);
  return errors;
}
