/**
 * Two versions of an object, and the fields in which they differ, cut by the schema.
 *
 * Parts that are the same in memory are not looked at, equal parts leave nothing behind: the cost is one walk, the
 * answer is as big as the difference. A path may be on two sides: an object that becomes a number is modified, and what
 * was in it removed. A KeylessElementError comes out of a list whose elements cannot be told apart.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, jsonEqual, ownValue } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { emptySet, type FieldNode, type FieldSet, leaf, union } from './field-sets/field-set.ts';
import {
  elementStep,
  elementsOf,
  isEmptyAs,
  isFree,
  listOrEmpty,
  memberSchema,
  objectOrEmpty,
  type Shape,
  shapeOfValue,
} from './field-sets/field-shape.ts';

export type Comparison = { readonly added: FieldSet; readonly modified: FieldSet; readonly removed: FieldSet };

type Side = 'added' | 'modified' | 'removed';
type Nodes = { [side in Side]: FieldNode | undefined };
type Children = { [side in Side]: Map<string, FieldNode> | undefined };

const sides: readonly Side[] = ['added', 'modified', 'removed'];
const same: Nodes = { added: undefined, modified: undefined, removed: undefined };
/** Shared: what is noted goes into others. */
const unchanged: Children = { added: undefined, modified: undefined, removed: undefined };
const leaves: { readonly [side in Side]: Nodes } = {
  added: { ...same, added: leaf },
  modified: { ...same, modified: leaf },
  removed: { ...same, removed: leaf },
};

export function compareObjects(before: JsonObject, after: JsonObject, schema: Schema): Comparison {
  const { added, modified, removed } = compareMembers(objectOrEmpty(before), objectOrEmpty(after), schema);
  return { added: added ?? emptySet, modified: modified ?? emptySet, removed: removed ?? emptySet };
}

export function isSameComparison({ added, modified, removed }: Comparison): boolean {
  return added.size + modified.size + removed.size === 0;
}

function compare(before: JsonValue | undefined, after: JsonValue | undefined, schema: Schema): Nodes {
  if (before === after) return same;
  const nodes = compareAs(shapeOfValue(schema, after === undefined ? before : after), before, after, schema);
  if (before === undefined || after === undefined || !isFree(schema) || kindOf(before) === kindOf(after)) return nodes;
  // A free value of another type than before: what it was is gone, what it is has come.
  return joinNodes(compareAs(shapeOfValue(schema, before), before, after, schema), nodes);
}

function compareAs(shape: Shape, before: JsonValue | undefined, after: JsonValue | undefined, schema: Schema): Nodes {
  if (shape === 'leaf' || (isEmptyAs(shape, before) && isEmptyAs(shape, after))) return compareLeaf(before, after);
  const children =
    shape === 'members'
      ? compareMembers(objectOrEmpty(before), objectOrEmpty(after), schema)
      : compareElements(listOrEmpty(before), listOrEmpty(after), schema);
  if (children === unchanged && before !== undefined && after !== undefined) return same;
  return {
    added: nodeOf(before === undefined, children.added),
    modified: nodeOf(false, children.modified),
    removed: nodeOf(after === undefined, children.removed),
  };
}

function kindOf(value: JsonValue): string {
  return value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value === 'object' ? 'map' : 'scalar';
}

function joinNodes(a: Nodes, b: Nodes): Nodes {
  const join = (side: Side): FieldNode | undefined => {
    const [one, other] = [a[side], b[side]];
    if (!one || !other) return one ?? other;
    return { isOwned: one.isOwned || other.isOwned, children: union(one.children, other.children) };
  };
  return { added: join('added'), modified: join('modified'), removed: join('removed') };
}

function compareLeaf(before: JsonValue | undefined, after: JsonValue | undefined): Nodes {
  if (before === undefined) return leaves.added;
  if (after === undefined) return leaves.removed;
  return jsonEqual(before, after) ? same : leaves.modified;
}

function compareMembers(before: JsonObject, after: JsonObject, schema: Schema): Children {
  let children = unchanged;
  for (const key in after) {
    if (!Object.hasOwn(after, key)) continue;
    const old = ownValue(before, key);
    const value = after[key];
    if (old === value) continue;
    const member = memberSchema(schema, key);
    const nodes = member ? compare(old, value, member) : same;
    if (nodes !== same) children = noted(children, `f:${key}`, nodes);
  }
  for (const key in before) {
    if (!Object.hasOwn(before, key) || ownValue(after, key) !== undefined) continue;
    const member = memberSchema(schema, key);
    if (member) children = noted(children, `f:${key}`, compare(before[key], undefined, member));
  }
  return children;
}

function compareElements(before: readonly JsonValue[], after: readonly JsonValue[], schema: Schema): Children {
  const { items, listMapKeys } = schema;
  if (schema.listType !== 'set' && items && isAligned(before, after, listMapKeys!))
    return compareAligned(before, after, schema, items);
  const old = elementsOf(before, schema);
  const now = elementsOf(after, schema);
  let children = unchanged;
  const compareOne = (was: JsonValue | undefined, is: JsonValue | undefined): Nodes =>
    was === is ? same : items && schema.listType !== 'set' ? compare(was, is, items) : compareLeaf(was, is);
  for (const [step, is] of now) {
    const was = old.get(step) ?? none;
    if (was.length < 2 && is.length < 2) children = noted(children, step, compareOne(was[0], is[0]));
    else children = noted(children, step, compareDuplicates(was, is, compareOne));
  }
  for (const [step, was] of old)
    if (!now.has(step))
      children = noted(children, step, was.length < 2 ? compareOne(was[0], undefined) : leaves.removed);
  return children;
}

/** In longer lists to look for two of the same keys costs more than to name them all. */
const MOST_ALIGNED = 16;

/**
 * Whether each element stands where it stood, by keys that all of them have and no two share. So it is in nearly every update:
 * then only an element that has changed needs its step.
 */
function isAligned(before: readonly JsonValue[], after: readonly JsonValue[], keys: readonly string[]): boolean {
  if (before.length !== after.length || after.length > MOST_ALIGNED) return false;
  for (let i = 0; i < after.length; i++) {
    const [was, is] = [before[i]!, after[i]!];
    if (!isObject(was) || !isObject(is)) return false;
    for (const key of keys) if (!isPlain(ownValue(is, key)) || ownValue(was, key) !== ownValue(is, key)) return false;
    for (let j = 0; j < i; j++) if (hasSameKeys(is, after[j] as JsonObject, keys)) return false;
  }
  return true;
}

/** Two of these have the same text only where they are the same. */
function isPlain(key: JsonValue | undefined): boolean {
  return typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean';
}

function hasSameKeys(a: JsonObject, b: JsonObject, keys: readonly string[]): boolean {
  for (const key of keys) if (a[key] !== b[key]) return false;
  return true;
}

function compareAligned(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  schema: Schema,
  items: Schema,
): Children {
  let children = unchanged;
  for (let i = 0; i < after.length; i++) {
    const nodes = compare(before[i], after[i], items);
    if (nodes !== same) children = noted(children, elementStep(after[i]!, schema)!, nodes);
  }
  return children;
}

const none: readonly JsonValue[] = [];

/** Elements of one step are owned as one leaf while there are several of them. */
function compareDuplicates(
  was: readonly JsonValue[],
  is: readonly JsonValue[],
  compareOne: (was: JsonValue | undefined, is: JsonValue | undefined) => Nodes,
): Nodes {
  if (was.length > 1 && is.length > 1) return jsonEqual([...was], [...is]) ? same : leaves.modified;
  if (was.length > 1) return joinNodes(compareOne(undefined, is[0]), leaves.removed);
  return joinNodes(compareOne(was[0], undefined), leaves.added);
}

/** These children and one more, on the sides where it has changed. */
function noted(children: Children, step: string, nodes: Nodes): Children {
  if (nodes === same) return children;
  const more = children === unchanged ? { added: undefined, modified: undefined, removed: undefined } : children;
  for (const side of sides) {
    const node = nodes[side];
    if (!node) continue;
    more[side] ??= new Map();
    more[side].set(step, node);
  }
  return more;
}

function nodeOf(isOwned: boolean, children: FieldSet | undefined): FieldNode | undefined {
  if (children) return { isOwned, children };
  return isOwned ? leaf : undefined;
}
