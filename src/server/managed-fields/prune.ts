/**
 * Takes out of a merged object what its applier had before and nobody has now.
 *
 * Whoever has anything in a declared field has the field; an entry of a map or an element of a list only has who has it
 * itself. What goes takes all below it along, so three steps find what may go: without all that was the applier's, with
 * what somebody has put back, less only what was the applier's. A map or list of which nothing is left becomes null.
 * Pure; what does not change is shared.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, setKey } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { difference, type FieldNode, type FieldSet, intersection, leaf, union } from './field-sets/field-set.ts';
import {
  elementStep,
  elementsOf,
  isEmptyAs,
  listOrEmpty,
  memberSchema,
  shapeOfValue,
} from './field-sets/field-shape.ts';

/** `last`: what the applier had; `owned`: what it has now, and what all others have. */
export function removeUnowned(merged: JsonObject, last: FieldSet, owned: FieldSet, schema: Schema): JsonObject {
  if (last.size === 0 || isAllOwned(last, owned, schema)) return merged;
  const had = withDeclared(last, schema);
  const all = fieldsIn(merged, schema);
  const withoutMine = removeFields(merged, had, schema);
  const unowned = difference(all, union(fieldsIn(withoutMine, schema), withDeclared(owned, schema)));
  const withOwned = removeFields(merged, unowned, schema);
  return removeFields(merged, intersection(difference(all, fieldsIn(withOwned, schema)), had), schema);
}

/**
 * Whether all that the applier had, and all on the way to it, belongs to somebody: then nothing can go, and most who apply
 * again ask for what they asked for before.
 */
function isAllOwned(last: FieldSet, owned: FieldSet, schema: Schema | undefined): boolean {
  for (const [step, node] of last) {
    const now = owned.get(step);
    if (!now) return false;
    const key = step.slice(2);
    const isField = step.startsWith('f:');
    const isDeclared = isField && schema?.properties?.has(key) === true;
    if (!now.isOwned && !(isDeclared && now.children.size > 0)) return false;
    if (node.children.size === 0) continue;
    if (!node.isOwned && !isDeclared) return false;
    const below = schema && (isField ? memberSchema(schema, key) : schema.items);
    if (!isAllOwned(node.children, now.children, below)) return false;
  }
  return true;
}

/** With every declared field on the way to others. */
function withDeclared(set: FieldSet, schema: Schema): FieldSet {
  const result = new Map<string, FieldNode>();
  for (const [step, node] of set) {
    if (node.children.size === 0) {
      result.set(step, node);
      continue;
    }
    const key = step.slice(2);
    const isField = step.startsWith('f:');
    const below = isField ? memberSchema(schema, key) : schema.items;
    const isDeclared = isField && schema.properties?.has(key) === true;
    const children = below ? withDeclared(node.children, below) : node.children;
    result.set(step, { isOwned: node.isOwned || isDeclared, children });
  }
  return result;
}

/** What an object names, with every declared field on the way; unlike a body it may have duplicates. */
function fieldsIn(object: JsonObject, schema: Schema): FieldSet {
  const members = new Map<string, FieldNode>();
  for (const key of Object.keys(object)) {
    const member = memberSchema(schema, key);
    const node = member && nodeIn(object[key]!, member, schema.properties?.has(key) === true);
    if (node) members.set(`f:${key}`, node);
  }
  return members;
}

/** Undefined for a declared field that names nothing: an empty list, or what has nothing but such lists in it. */
function nodeIn(value: JsonValue, schema: Schema, isDeclared: boolean): FieldNode | undefined {
  const shape = shapeOfValue(schema, value);
  if (shape === 'leaf' || value === null) return leaf;
  if (shape === 'members' && isEmptyAs(shape, value)) return leaf;
  const children = isObject(value) ? fieldsIn(value, schema) : elementsIn(value, schema);
  return isDeclared && children.size === 0 ? undefined : { isOwned: true, children };
}

function elementsIn(list: JsonValue, schema: Schema): FieldSet {
  const elements = new Map<string, FieldNode>();
  for (const [step, items] of elementsOf(listOrEmpty(list), schema)) {
    const isOne = items.length === 1 && schema.items !== undefined;
    elements.set(step, (isOne && nodeIn(items[0]!, schema.items!, false)) || leaf);
  }
  return elements;
}

function removeFields(object: JsonObject, fields: FieldSet, schema: Schema): JsonObject {
  let result = object;
  for (const [step, node] of fields) {
    const key = step.slice(2);
    if (!step.startsWith('f:') || !Object.hasOwn(object, key)) continue;
    const value = object[key]!;
    const member = memberSchema(schema, key);
    const kept = node.isOwned || !member ? undefined : removeBelow(value, node.children, member);
    if (kept === value) continue;
    if (result === object) result = { ...object };
    if (kept === undefined) delete result[key];
    else setKey(result, key, kept);
  }
  return result;
}

function removeBelow(value: JsonValue, fields: FieldSet, schema: Schema): JsonValue {
  if (shapeOfValue(schema, value) === 'leaf') return value;
  if (isObject(value)) {
    const kept = removeFields(value, fields, schema);
    return isEmptyAs('members', kept) ? null : kept;
  }
  if (!Array.isArray(value)) return value;
  const kept: JsonValue[] = [];
  for (const item of value) {
    const step = elementStep(item, schema);
    const node = step === undefined ? undefined : fields.get(step);
    if (!node) kept.push(item);
    else if (!node.isOwned) kept.push(schema.items ? removeBelow(item, node.children, schema.items) : item);
  }
  return kept.length > 0 ? kept : null;
}
