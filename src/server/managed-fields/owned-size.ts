/**
 * How long the JSON of what the creator of an object owns is at least, without working it out. What is owned is stored with
 * the object: where both together cannot be stored, to look for all of it is work for nothing.
 *
 * Never more than it is, but for the few fields that an empty object of the type has as well.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { elementStep, memberSchema, shapeOfValue } from './field-sets/field-shape.ts';

/** `"":{}` */
const AROUND_STEP = 5;
/** Of the members of an object: `f:`. */
const MEMBER = 2;

/** In bytes; beyond `limit` it is not counted on. Only `fields` of the object count. */
export function leastOwnedBytes(object: JsonObject, schema: Schema, fields: readonly string[], limit: number): number {
  const room = { left: limit };
  for (const field of fields) {
    const member = memberSchema(schema, field);
    if (member) count(object[field], member, room);
  }
  return Math.max(0, limit - room.left);
}

type Room = { left: number };

function count(value: JsonValue | undefined, schema: Schema, room: Room): void {
  const shape = value === undefined ? 'leaf' : shapeOfValue(schema, value);
  if (shape === 'members' && isObject(value)) countMembers(value, schema, room);
  else if ((shape === 'keyed' || shape === 'set') && Array.isArray(value)) countElements(value, schema, room);
}

function countMembers(value: JsonObject, schema: Schema, room: Room): void {
  for (const key of Object.keys(value)) {
    if (room.left < 0) return;
    const member = memberSchema(schema, key);
    if (!member) continue;
    room.left -= key.length + MEMBER + AROUND_STEP;
    count(value[key], member, room);
  }
}

/** Where an element has no step nothing is owned at all; elements of one step are one leaf, and not counted here. */
function countElements(list: readonly JsonValue[], schema: Schema, room: Room): void {
  const before = room.left;
  const seen = new Set<string>();
  for (const item of list) {
    const step = elementStep(item, schema);
    if (step === undefined || seen.has(step)) {
      room.left = step === undefined ? Number.POSITIVE_INFINITY : before;
      return;
    }
    seen.add(step);
    if (room.left < 0) continue; // the rest is only looked at for its steps
    room.left -= step.length + AROUND_STEP;
    if (schema.items && schema.listType !== 'set') count(item, schema.items, room);
  }
}
