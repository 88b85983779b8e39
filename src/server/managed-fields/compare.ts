/**
 * Two versions of an object, and the fields in which they differ, cut by the schema.
 *
 * Parts that are the same in memory are not looked at, equal parts leave nothing behind: the cost is one walk, the
 * answer is as big as the difference. A path may be on two sides: an object that becomes a number is modified, and what
 * was in it removed. A KeylessElementError comes out of a list whose elements cannot be told apart.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonEqual, ownValue } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { emptySet, type FieldNode, type FieldSet, leaf, union } from './field-set.ts';
import {
  elementsOf,
  isEmptyAs,
  isFree,
  listOrEmpty,
  memberSchema,
  objectOrEmpty,
  type Shape,
  shapeOfValue,
} from './field-shape.ts';

export type Comparison = { readonly added: FieldSet; readonly modified: FieldSet; readonly removed: FieldSet };

type Side = 'added' | 'modified' | 'removed';
type Nodes = { [side in Side]: FieldNode | undefined };
type Children = { [side in Side]: Map<string, FieldNode> | undefined };

const sides: readonly Side[] = ['added', 'modified', 'removed'];
const same: Nodes = { added: undefined, modified: undefined, removed: undefined };
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
  const children: Children = { ...same } as Children;
  for (const key in after) {
    if (!Object.hasOwn(after, key)) continue;
    const old = ownValue(before, key);
    const value = after[key];
    if (old === value) continue;
    const member = memberSchema(schema, key);
    if (member) note(children, `f:${key}`, compare(old, value, member));
  }
  for (const key in before) {
    if (!Object.hasOwn(before, key) || ownValue(after, key) !== undefined) continue;
    const member = memberSchema(schema, key);
    if (member) note(children, `f:${key}`, compare(before[key], undefined, member));
  }
  return children;
}

function compareElements(before: readonly JsonValue[], after: readonly JsonValue[], schema: Schema): Children {
  const old = elementsOf(before, schema);
  const now = elementsOf(after, schema);
  const children: Children = { ...same } as Children;
  const items = schema.listType === 'set' ? undefined : schema.items;
  const compareOne = (was: JsonValue | undefined, is: JsonValue | undefined): Nodes =>
    was === is ? same : items ? compare(was, is, items) : compareLeaf(was, is);
  for (const [step, is] of now) {
    const was = old.get(step) ?? none;
    if (was.length < 2 && is.length < 2) note(children, step, compareOne(was[0], is[0]));
    else note(children, step, compareDuplicates(was, is, compareOne));
  }
  for (const [step, was] of old)
    if (!now.has(step)) note(children, step, was.length < 2 ? compareOne(was[0], undefined) : leaves.removed);
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

function note(children: Children, step: string, nodes: Nodes): void {
  for (const side of sides) {
    const node = nodes[side];
    if (!node) continue;
    children[side] ??= new Map();
    children[side].set(step, node);
  }
}

function nodeOf(isOwned: boolean, children: FieldSet | undefined): FieldNode | undefined {
  if (children) return { isOwned, children };
  return isOwned ? leaf : undefined;
}
