/**
 * What the creator of an object owns, as FieldsV1, in one walk over the object and without a set in between: creates
 * are the writes a server has most of.
 *
 * The same as `compareObjects` with an empty object of the type says, less what is never tracked, and held to it by a
 * test: what the empty object has is owned only where it differs, what it lacks is owned with the path to it. Steps
 * come sorted. What is known of a type (the step and schema of each member) is found once and kept with its schema.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { checkObject } from '../codec/check-object.ts';
import { isObject, jsonEqual } from '../codec/json/json-objects.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import type { Schema } from '../schema/schema.ts';
import type { FieldSet } from './field-set.ts';
import {
  elementStep,
  isEmptyAs,
  isFree,
  KeylessElementError,
  listOrEmpty,
  memberSchema,
  objectOrEmpty,
  type Shape,
  shapeOf,
  shapeOfValue,
} from './field-shape.ts';

type Member = {
  readonly step: string;
  /** Its place among the members that the schema names; -1 for others. */
  readonly rank: number;
  readonly type: OwnedType;
};
type Owned = { readonly step: string; readonly rank: number; readonly fields: JsonObject };

/** The field itself and nothing below it. Shared, so never written to. */
const LEAF: JsonObject = Object.freeze({});
/** So many are put in order one by one. */
const FEW = 50;
const NOTHING: JsonObject = Object.freeze({});

/** `notTracked`: fields that do not count, with all below them. Undefined if nothing is owned. */
export function fieldsOfNew(object: JsonObject, schema: Schema, notTracked: FieldSet): JsonObject | undefined {
  const type = ownedTypeOf(schema);
  return joined(membersOf(object, type.empty(), type, notTracked), false);
}

class OwnedType {
  readonly shape: Shape;
  readonly isFree: boolean;
  readonly schema: Schema;
  readonly #members = new Map<string, Member>();
  /** The place of each named member in the order of names. */
  #ranks: ReadonlyMap<string, number> | undefined;
  /** Of all members without a name in the schema: they are alike. */
  #other: OwnedType | undefined;
  #element: OwnedType | undefined;
  #empty: JsonObject | undefined;

  constructor(schema: Schema) {
    this.schema = schema;
    this.shape = shapeOf(schema);
    this.isFree = isFree(schema);
  }

  /** Undefined for a member the schema does not know. Only what has a name in the schema is kept. */
  member(key: string): Member | undefined {
    const known = this.#members.get(key);
    if (known) return known;
    this.#ranks ??= new Map([...(this.schema.properties?.keys() ?? [])].sort().map((name, place) => [name, place]));
    const rank = this.#ranks.get(key) ?? -1;
    const type = rank < 0 && this.#other ? this.#other : this.#typeOf(key);
    if (!type) return undefined;
    const member = { step: `f:${key}`, rank, type };
    if (rank >= 0) this.#members.set(key, member);
    else this.#other = type;
    return member;
  }

  #typeOf(key: string): OwnedType | undefined {
    const schema = memberSchema(this.schema, key);
    return schema && ownedTypeOf(schema);
  }

  /** Of a keyed list; undefined where elements are looked at no further. */
  element(): OwnedType | undefined {
    const { items, listType } = this.schema;
    if (!items || listType === 'set') return undefined;
    this.#element ??= ownedTypeOf(items);
    return this.#element;
  }

  /** What kube-apiserver compares a new object with: nothing but what its type always writes. */
  empty(): JsonObject {
    this.#empty ??= withNullsForAbsent(checkObject({}, this.schema).object, this.schema);
    return this.#empty;
  }
}

const ownedTypes = new WeakMap<Schema, OwnedType>();

function ownedTypeOf(schema: Schema): OwnedType {
  let type = ownedTypes.get(schema);
  if (!type) {
    type = new OwnedType(schema);
    ownedTypes.set(schema, type);
  }
  return type;
}

/** `before`: what an empty object has here; null: a required field that it lacks. */
function fieldsOf(
  value: JsonValue,
  before: JsonValue | undefined,
  type: OwnedType,
  notTracked: FieldSet | undefined,
): JsonObject | undefined {
  if (before === value) return undefined;
  const shape = type.isFree ? shapeOfValue(type.schema, value) : type.shape;
  if (shape === 'leaf' || (isEmptyAs(shape, before) && isEmptyAs(shape, value)))
    return before !== undefined && jsonEqual(before, value) ? undefined : LEAF;
  if (shape === 'members') {
    const members = membersOf(objectOrEmpty(value), before, type, notTracked);
    return joined(members, before === undefined);
  }
  return joined(elementsOf(listOrEmpty(value), type), before === undefined);
}

function membersOf(object: JsonObject, before: JsonValue | undefined, type: OwnedType, notTracked?: FieldSet): Owned[] {
  const members: Owned[] = [];
  for (const key of Object.keys(object)) {
    const member = type.member(key);
    const value = object[key];
    if (!member || value === undefined) continue;
    const { step, rank } = member;
    const left = notTracked?.get(step);
    if (left?.isOwned) continue;
    let old = isObject(before) && Object.hasOwn(before, key) ? before[key] : undefined;
    if (old === undefined && step === 'f:metadata' && notTracked?.has(step)) old = NOTHING; // only what is in it is owned
    const fields = fieldsOf(value, old, member.type, left?.children);
    if (fields) insert(members, { step, rank, fields });
  }
  sortMany(members);
  return members;
}

/** Several elements of one step are one leaf. */
function elementsOf(list: readonly JsonValue[], type: OwnedType): Owned[] {
  const elements: Owned[] = [];
  const element = type.element();
  for (const item of list) {
    const step = elementStep(item, type.schema);
    if (step === undefined) throw new KeylessElementError();
    const fields = element ? fieldsOf(item, undefined, element, undefined) : LEAF;
    if (fields) insert(elements, { step, rank: -1, fields });
  }
  sortMany(elements);
  return elements.some(({ step }, i) => step === elements[i + 1]?.step) ? withoutDuplicates(elements) : elements;
}

function withoutDuplicates(sorted: readonly Owned[]): Owned[] {
  const isSame = (i: number, j: number) => sorted[i]?.step === sorted[j]?.step;
  return sorted
    .map((one, i) => (isSame(i, i - 1) || isSame(i, i + 1) ? { ...one, fields: LEAF } : one))
    .filter((_, i) => i === 0 || !isSame(i, i - 1));
}

function joined(owned: Owned[], isOwned: boolean): JsonObject | undefined {
  if (owned.length === 0) return isOwned ? LEAF : undefined;
  const fields: JsonObject = isOwned ? { '.': LEAF } : {};
  for (const { step, fields: below } of owned) fields[step] = below;
  return fields;
}

/** Keeps few in the order of their steps; `sortMany` sees to the others. */
function insert(owned: Owned[], one: Owned): void {
  let at = owned.length;
  owned.push(one);
  if (at >= FEW) return;
  for (; at > 0 && isBefore(one, owned[at - 1]!); at--) owned[at] = owned[at - 1]!;
  owned[at] = one;
}

function sortMany(owned: Owned[]): void {
  if (owned.length > FEW) owned.sort((a, b) => (a.step < b.step ? -1 : a.step > b.step ? 1 : 0));
}

function isBefore(a: Owned, b: Owned): boolean {
  return a.rank < 0 || b.rank < 0 ? a.step < b.step : a.rank < b.rank;
}
