/**
 * Two versions of an object, and the fields in which they differ, cut by the schema.
 *
 * Parts that are the same in memory are not looked at, equal parts leave nothing behind: the cost is one walk, the
 * answer is as big as the difference. A field that its type always writes (a required list) counts as there, empty,
 * also where it is left out, because the reference server has it so.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonEqual, ownValue } from '../codec/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { emptySet, type FieldNode, type FieldSet, leaf } from './field-set.ts';
import { elementsOf, isEmptyValue, isRequired, memberSchema, objectOrEmpty, shapeOf } from './field-shape.ts';

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
  const { added, modified, removed } = compareMembers(before, after, schema);
  return { added: added ?? emptySet, modified: modified ?? emptySet, removed: removed ?? emptySet };
}

export function isSameComparison({ added, modified, removed }: Comparison): boolean {
  return added.size + modified.size + removed.size === 0;
}

function compare(before: JsonValue | undefined, after: JsonValue | undefined, schema: Schema): Nodes {
  if (before === after) return same;
  const shape = shapeOf(schema);
  if (shape === 'leaf' || (isEmptyValue(before) && isEmptyValue(after))) return compareLeaf(before, after);
  let children: Children | undefined;
  if (shape === 'members') children = compareMembers(objectOrEmpty(before), objectOrEmpty(after), schema);
  else children = compareElements(before, after, schema);
  if (!children) return compareLeaf(before, after);
  return {
    added: nodeOf(before === undefined, children.added),
    modified: nodeOf(false, children.modified),
    removed: nodeOf(after === undefined, children.removed),
  };
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
    if (member) note(children, `f:${key}`, compare(old ?? absent(schema, key), value, member));
  }
  for (const key in before) {
    if (!Object.hasOwn(before, key) || ownValue(after, key) !== undefined) continue;
    const member = memberSchema(schema, key);
    if (member) note(children, `f:${key}`, compare(before[key], absent(schema, key), member));
  }
  return children;
}

/** What stands for a member that is left out: null where its type writes it all the same. */
function absent(schema: Schema, key: string): null | undefined {
  return isRequired(schema, key) ? null : undefined;
}

function compareElements(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  schema: Schema,
): Children | undefined {
  const old = elementsOf(Array.isArray(before) ? before : [], schema);
  const now = elementsOf(Array.isArray(after) ? after : [], schema);
  if (!old || !now) return undefined;
  const children: Children = { ...same } as Children;
  const items = schema.listType === 'set' ? undefined : schema.items;
  for (const [step, item] of now) {
    const other = old.get(step);
    if (other !== item) note(children, step, items ? compare(other, item, items) : compareLeaf(other, item));
  }
  for (const [step, item] of old)
    if (!now.has(step)) note(children, step, items ? compare(item, undefined, items) : leaves.removed);
  return children;
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
