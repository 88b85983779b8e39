/**
 * Sets of fields as trees: who owns what, and what a change touched.
 *
 * A step of a path is the text that FieldsV1 uses for it: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`. A node is in the
 * set (`isOwned`) or only on the way to others. Always true: no node is without both ownership and children, and no
 * set is changed after it was made; sets share their parts.
 *
 *     { "f:data": { ".": {}, "f:k": {} } }      data itself, and k in it
 *     { "f:data": { "f:k": {} } }               k only
 *     { "f:data": {} }                          data itself only
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { cutText, jsonText } from '../../../api/json-text.ts';
import { isObject, setKey } from '../../codec/json/json-objects.ts';
import { parseJson } from '../../codec/json/json-reader.ts';
import { sharedObject } from '../../codec/json/shared-objects.ts';

export type FieldSet = ReadonlyMap<string, FieldNode>;
export type FieldNode = { readonly isOwned: boolean; readonly children: FieldSet };

export const emptySet: FieldSet = new Map();
export const leaf: FieldNode = { isOwned: true, children: emptySet };

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a.size === 0 || a === b) return b;
  if (b.size === 0) return a;
  const result = new Map(a);
  for (const [step, node] of b) {
    const other = a.get(step);
    result.set(step, other ? makeNode(other.isOwned || node.isOwned, union(other.children, node.children))! : node);
  }
  return result;
}

/** The union of many, each looked at once: to unite them one by one would copy the first again for every other. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const filled = sets.filter((set) => set.size > 0);
  if (filled.length < 2) return filled[0] ?? emptySet;
  const nodes = new Map<string, FieldNode[]>();
  for (const set of filled) {
    for (const [step, node] of set) {
      const others = nodes.get(step);
      if (others) others.push(node);
      else nodes.set(step, [node]);
    }
  }
  const result = new Map<string, FieldNode>();
  for (const [step, same] of nodes) {
    if (same.length === 1) result.set(step, same[0]!);
    else {
      const isOwned = same.some((node) => node.isOwned);
      result.set(step, makeNode(isOwned, unionAll(same.map(({ children }) => children)))!);
    }
  }
  return result;
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (a.size === 0 || b.size === 0) return a;
  const result = new Map<string, FieldNode>();
  for (const [step, node] of a) {
    const other = b.get(step);
    const kept = other ? makeNode(node.isOwned && !other.isOwned, difference(node.children, other.children)) : node;
    if (kept) result.set(step, kept);
  }
  return result;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a.size === 0 || b.size === 0) return emptySet;
  const result = new Map<string, FieldNode>();
  for (const [step, node] of a) {
    const other = b.get(step);
    const kept = other && makeNode(node.isOwned && other.isOwned, intersection(node.children, other.children));
    if (kept) result.set(step, kept);
  }
  return result;
}

export function setsEqual(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [step, node] of a) {
    const other = b.get(step);
    if (other?.isOwned !== node.isOwned || !setsEqual(node.children, other.children)) return false;
  }
  return true;
}

/** `a` without the fields of `b` and all that is below them. */
export function withoutSubtrees(a: FieldSet, b: FieldSet): FieldSet {
  if (a.size === 0 || b.size === 0) return a;
  const result = new Map<string, FieldNode>();
  for (const [step, node] of a) {
    const other = b.get(step);
    if (other?.isOwned) continue;
    const kept = other ? makeNode(node.isOwned, withoutSubtrees(node.children, other.children)) : node;
    if (kept) result.set(step, kept);
  }
  return result;
}

/** The set of some paths, each a list of steps. */
export function setOfPaths(paths: Iterable<readonly string[]>): FieldSet {
  let set: FieldSet = emptySet;
  for (const path of paths) {
    let node: FieldNode = leaf;
    for (const step of path.slice(1).reverse()) node = { isOwned: false, children: new Map([[step, node]]) };
    if (path.length > 0) set = union(set, new Map([[path[0]!, node]]));
  }
  return set;
}

/** Every path of a set, in the order of its steps. The list that is handed out goes on changing: copy it to keep it. */
export function* pathsOf(set: FieldSet, above: string[] = []): Generator<readonly string[], void, void> {
  for (const step of [...set.keys()].sort()) {
    const node = set.get(step)!;
    above.push(step);
    if (node.isOwned) yield above;
    if (node.children.size > 0) yield* pathsOf(node.children, above);
    above.pop();
  }
}

/** How many paths a set has. */
export function countPaths(set: FieldSet): number {
  let count = 0;
  for (const { isOwned, children } of set.values()) count += (isOwned ? 1 : 0) + countPaths(children);
  return count;
}

/** FieldsV1, steps sorted. Equal ones are one object, which nobody changes. */
export function toFieldsV1(set: FieldSet): JsonObject {
  return sharedObject(`{${innerText(set)}}`);
}

function innerText(set: FieldSet): string {
  const steps = [...set.keys()];
  if (steps.length > 1) steps.sort();
  let text = '';
  for (const step of steps) {
    const { isOwned, children } = set.get(step)!;
    const own = children.size === 0 ? '' : `${isOwned ? '".":{},' : ''}${innerText(children)}`;
    text += `${text === '' ? '' : ','}${JSON.stringify(step)}:{${own}}`;
  }
  return text;
}

/** The set behind FieldsV1; what is no step is left out, keys are brought into their one form. */
export function fromFieldsV1(json: JsonValue | undefined): FieldSet {
  if (!isObject(json)) return emptySet;
  const result = new Map<string, FieldNode>();
  for (const written of Object.keys(json)) {
    const step = canonicalStep(written);
    if (step === undefined) continue;
    const below = json[written];
    const children = fromFieldsV1(below);
    const isOwned = children.size === 0 || (isObject(below) && Object.hasOwn(below, '.'));
    result.set(step, { isOwned, children });
  }
  return result;
}

/** The step of a keyed list element: its keys in order. */
function keyStep(keys: Readonly<Record<string, JsonValue>>): string {
  const sorted: JsonObject = {};
  for (const name of Object.keys(keys).sort()) setKey(sorted, name, keys[name]!);
  return `k:${jsonText(sorted)}`;
}

export function valueStep(value: JsonValue): string {
  return `v:${jsonText(value)}`;
}

const pathLimitBytes = 4 * 1024;

/** A path as conflicts show it: `.spec.containers[name="c"].image`; a very long one is cut. */
export function pathText(path: readonly string[]): string {
  let text = '';
  for (let i = 0; i < path.length && text.length <= pathLimitBytes; i++) text += stepText(path[i]!);
  return cutText(text, pathLimitBytes);
}

function stepText(step: string): string {
  const rest = step.slice(2);
  if (step[0] === 'f') return `.${rest}`;
  if (step[0] === 'i') return `[${rest}]`;
  if (step[0] === 'v') return `[=${rest}]`;
  const keys = parseJson(rest) as JsonObject;
  return `[${Object.keys(keys)
    .map((name) => `${name}=${jsonText(keys[name])}`)
    .join(',')}]`;
}

const stepForm = /^(?:f:|i:\d+$)/;

function canonicalStep(step: string): string | undefined {
  if (stepForm.test(step)) return step;
  const isKey = step.startsWith('k:');
  if (!isKey && !step.startsWith('v:')) return undefined;
  try {
    const value = parseJson(step.slice(2));
    if (!isKey) return valueStep(value);
    return isObject(value) ? keyStep(value as Record<string, JsonValue>) : undefined;
  } catch {
    return undefined;
  }
}

/** A node, unless there would be nothing in it. */
function makeNode(isOwned: boolean, children: FieldSet): FieldNode | undefined {
  if (children.size > 0) return { isOwned, children };
  return isOwned ? leaf : undefined;
}
