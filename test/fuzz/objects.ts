/**
 * Objects of the built-in kinds, mostly right: fields are chosen from the schema, and now and then one has a value of
 * another type, an odd one, or a name that the schema does not know.
 */
import type { JsonObject, JsonValue } from '../../src/api/index.ts';
import type { Resource } from '../../src/server/registry/resource.ts';
import type { Schema } from '../../src/server/schema/schema.ts';
import { allResources, sampleOf } from '../support/schema-samples.ts';
import type { Dice } from './dice.ts';
import { oddText, oddValue } from './odd-values.ts';

const MOST_DEPTH = 8;
const RESOURCES: readonly Resource[] = allResources();

/** What people use most comes most often, everything comes. */
const FREQUENT = RESOURCES.filter(({ plural }) =>
  ['configmaps', 'pods', 'deployments', 'services', 'customresourcedefinitions'].includes(plural),
);

export function someResource(dice: Dice): Resource {
  return dice.chance(0.4) ? dice.pick(FREQUENT) : dice.pick(RESOURCES);
}

export function someObject(dice: Dice, { schema, groupVersion, kind }: Resource, name: string): JsonObject {
  const object = someValue(dice, schema, 0);
  const fields = isObject(object) ? object : {};
  const metadata = isObject(fields.metadata) ? fields.metadata : {};
  if (dice.chance(0.95)) metadata.name = name;
  delete metadata.deletionTimestamp;
  const type = dice.chance(0.95) ? { apiVersion: groupVersion, kind } : {};
  return { ...fields, ...type, ...(dice.chance(0.98) && { metadata }) };
}

function someValue(dice: Dice, schema: Schema, depth: number): JsonValue {
  if (dice.chance(0.04)) return oddValue(dice);
  if (schema.enum && dice.chance(0.9)) return dice.pick(schema.enum);
  switch (schema.type) {
    case 'array':
      if (!schema.items || depth > MOST_DEPTH) return [];
      return dice.times(3, () => someValue(dice, schema.items!, depth + 1));
    case 'object':
      return someFields(dice, schema, depth);
    case 'string':
      return dice.chance(0.25) ? oddText(dice) : sampleOf(schema, dice.below(4));
    case 'any':
      return dice.chance(0.5) ? oddValue(dice) : sampleOf(schema, dice.below(4));
    default:
      return sampleOf(schema, dice.below(4));
  }
}

function someFields(dice: Dice, { properties, additional, required = [] }: Schema, depth: number): JsonObject {
  const object: JsonObject = {};
  if (depth > MOST_DEPTH) return object;
  if (additional)
    for (let i = dice.below(4); i > 0; i--)
      object[dice.chance(0.3) ? oddText(dice) : `k${i}`] =
        additional === true ? oddValue(dice) : someValue(dice, additional, depth + 1);
  const share = depth === 0 ? 0.7 : 2 / ((properties?.size ?? 0) + 2);
  for (const [name, field] of properties ?? [])
    if (dice.chance(required.includes(name) ? 0.95 : share)) object[name] = someValue(dice, field, depth + 1);
  if (dice.chance(0.05)) object[oddText(dice)] = oddValue(dice);
  return object;
}

/** The way to some place in a value, as a JSON pointer. */
export function somePointer(dice: Dice, value: JsonValue | undefined): string {
  let [pointer, here] = ['', value];
  while (typeof here === 'object' && here !== null && dice.chance(0.8)) {
    const keys = Array.isArray(here) ? [...here.keys(), '-'].map(String) : Object.keys(here);
    if (keys.length === 0) break;
    const key = dice.chance(0.05) ? oddText(dice) : dice.pick(keys);
    pointer += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    here = Array.isArray(here) ? here[Number(key)] : Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return pointer;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
