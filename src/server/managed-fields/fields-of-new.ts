/**
 * What the creator of an object owns, as FieldsV1, in one walk over the object that writes its text: creates are the
 * writes a server has most of.
 *
 * The same as `compareObjects` with an empty object of the type says, less what is never tracked, and held to it by a
 * test: what the empty object has is owned only where it differs, what it lacks is owned with the path to it. Steps
 * come sorted. What is known of a type (the texts and types of its members, and for the last few sets of keys that were
 * met their order and the text they came to) is found once and kept with its schema: of an object like one before it
 * nothing is put together again. Equal texts are one object, which nobody changes.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { checkObject } from '../codec/check-object.ts';
import { isObject, jsonEqual } from '../codec/json/json-objects.ts';
import { sharedObject } from '../codec/json/shared-objects.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import type { Schema } from '../schema/schema.ts';
import type { FieldSet } from './field-sets/field-set.ts';
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
} from './field-sets/field-shape.ts';

type Member = {
  readonly key: string;
  readonly step: string;
  /** `"f:name":` */
  readonly head: string;
  readonly type: OwnedType;
};
/** The field itself and nothing below it. */
const LEAF = '{}';
const NOTHING: JsonObject = Object.freeze({});
/** What a type remembers: so many sets of keys, and as many lists. */
const REMEMBERED = 8;
/** An object of more keys, a longer list, or one with longer names and texts than that is met once. */
const MOST = 64;
const LONG = 4096;

/** Texts of what is below the values around, the innermost last; their places are taken again without being cleared. */
const below: (string | undefined)[] = [];
let top = 0;

/** `notTracked`: fields that do not count, with all below them. Undefined if nothing is owned. */
export function fieldsOfNew(object: JsonObject, schema: Schema, notTracked: FieldSet): JsonObject | undefined {
  const type = ownedTypeOf(schema);
  top = 0;
  const text = membersText(object, type.empty(), type, notTracked, false);
  return text === undefined ? undefined : sharedObject(text);
}

class OwnedType {
  readonly shape: Shape;
  readonly isFree: boolean;
  readonly schema: Schema;
  readonly #members = new Map<string, Member>();
  readonly #layouts: Layout[] = [];
  #nextLayout = 0;
  readonly #lists: KnownList[] = [];
  #nextList = 0;
  /** Of all members without a name in the schema: they are alike. */
  #other: OwnedType | undefined;
  #element: OwnedType | undefined;
  #empty: JsonObject | undefined;

  constructor(schema: Schema) {
    this.schema = schema;
    this.shape = shapeOf(schema);
    this.isFree = isFree(schema);
  }

  layoutOf(object: JsonObject): Layout {
    const keys = Object.keys(object);
    for (const layout of this.#layouts) if (layout.fits(keys)) return layout;
    const members: Member[] = [];
    for (const key of keys) {
      const member = this.#member(key);
      if (member) members.push(member);
    }
    const layout = new Layout(keys, members.sort(byStep));
    if (isShort(keys)) {
      this.#layouts[this.#nextLayout] = layout;
      this.#nextLayout = (this.#nextLayout + 1) % REMEMBERED;
    }
    return layout;
  }

  listOf(list: readonly JsonValue[]): KnownList {
    for (const known of this.#lists) if (known.fits(list)) return known;
    const known = new KnownList(list, this.schema);
    if (isShort(known.steps)) {
      this.#lists[this.#nextList] = known;
      this.#nextList = (this.#nextList + 1) % REMEMBERED;
    }
    return known;
  }

  /** Undefined for a member the schema does not know. Only what has a name in the schema is kept. */
  #member(key: string): Member | undefined {
    const known = this.#members.get(key);
    if (known) return known;
    const isNamed = this.schema.properties?.has(key) ?? false;
    const type = !isNamed && this.#other ? this.#other : this.#typeOf(key);
    if (!type) return undefined;
    const step = `f:${key}`;
    const member = { key, step, head: `${JSON.stringify(step)}:`, type };
    if (isNamed) this.#members.set(key, member);
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

/** What the parts of a value came to last time, and what was made of them. */
abstract class Known {
  readonly #parts: (string | undefined)[] = [];
  #inner: string | undefined;
  #owned: string | undefined;

  /** The text of the value whose parts lie in `below` from here on. */
  textFrom(base: number, isOwned: boolean): string | undefined {
    const count = top - base;
    for (let i = 0; i < count; i++) {
      const part = below[base + i];
      if (this.#parts[i] === part) continue;
      this.#parts[i] = part;
      this.#inner = undefined;
    }
    if (this.#inner === undefined) {
      const text = this.join(this.#parts);
      if (text.length > LONG) return this.#long(text, isOwned);
      this.#inner = text === '' ? '' : `{${text}}`;
      this.#owned = text === '' ? LEAF : `{".":{},${text}}`;
    }
    if (isOwned) return this.#owned;
    return this.#inner === '' ? undefined : this.#inner;
  }

  /** Is not kept, nor are its parts. */
  #long(text: string, isOwned: boolean): string {
    this.#parts.fill(undefined);
    return isOwned ? `{".":{},${text}}` : `{${text}}`;
  }

  /** What stands between braces. */
  protected abstract join(parts: readonly (string | undefined)[]): string;
}

/** Objects with these keys: their members in the order of their steps; what the schema does not know is not there. */
class Layout extends Known {
  readonly members: readonly Member[];
  readonly #keys: readonly string[];

  constructor(keys: readonly string[], members: readonly Member[]) {
    super();
    this.#keys = keys;
    this.members = members;
  }

  fits(keys: readonly string[]): boolean {
    if (this.#keys.length !== keys.length) return false;
    for (let i = 0; i < keys.length; i++) if (this.#keys[i] !== keys[i]) return false;
    return true;
  }

  protected join(parts: readonly (string | undefined)[]): string {
    let text = '';
    for (let i = 0; i < this.members.length; i++) {
      const fields = parts[i];
      if (fields !== undefined) text += `${text === '' ? '' : ','}${this.members[i]!.head}${fields}`;
    }
    return text;
  }
}

/** Lists whose elements have these keys. */
class KnownList extends Known {
  readonly #keyNames: readonly string[] | undefined;
  /** What makes the steps: of each element its keys. */
  readonly #keys: readonly (JsonValue | undefined)[];
  readonly #length: number;
  readonly steps: readonly string[];
  /** The places of the elements in the order of their steps. */
  readonly #order: readonly number[];

  constructor(list: readonly JsonValue[], schema: Schema) {
    super();
    this.#length = list.length;
    this.#keyNames = schema.listType === 'set' ? undefined : schema.listMapKeys!;
    this.steps = list.map((item) => {
      const step = elementStep(item, schema);
      if (step === undefined) throw new KeylessElementError();
      return step;
    });
    const names = this.#keyNames;
    this.#keys = names ? list.flatMap((item) => names.map((name) => (item as JsonObject)[name])) : list;
    const steps = this.steps;
    this.#order = steps.map((_, i) => i).sort((a, b) => (steps[a]! < steps[b]! ? -1 : steps[a]! > steps[b]! ? 1 : 0));
  }

  fits(list: readonly JsonValue[]): boolean {
    if (list.length !== this.#length) return false;
    const names = this.#keyNames;
    let at = 0;
    for (const item of list) {
      if (!names) {
        if (item !== this.#keys[at++]) return false;
        continue;
      }
      if (!isObject(item)) return false;
      for (const name of names) if (item[name] !== this.#keys[at++]) return false;
    }
    return true;
  }

  /** Several elements of one step are one leaf. */
  protected join(parts: readonly (string | undefined)[]): string {
    const owned = this.#order.filter((i) => parts[i] !== undefined);
    let text = '';
    for (let at = 0; at < owned.length; at++) {
      const i = owned[at]!;
      const step = this.steps[i]!;
      if (at > 0 && this.steps[owned[at - 1]!] === step) continue;
      const isShared = at + 1 < owned.length && this.steps[owned[at + 1]!] === step;
      text += `${text === '' ? '' : ','}${JSON.stringify(step)}:${isShared ? LEAF : parts[i]}`;
    }
    return text;
  }
}

function isShort(names: readonly string[]): boolean {
  let length = 0;
  for (const name of names) length += name.length;
  return names.length <= MOST && length <= LONG;
}

function byStep(a: Member, b: Member): number {
  return a.step < b.step ? -1 : a.step > b.step ? 1 : 0;
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
): string | undefined {
  if (before === value) return undefined;
  const shape = type.isFree ? shapeOfValue(type.schema, value) : type.shape;
  if (shape === 'leaf' || (isEmptyAs(shape, before) && isEmptyAs(shape, value)))
    return before !== undefined && jsonEqual(before, value) ? undefined : LEAF;
  if (shape === 'members') return membersText(objectOrEmpty(value), before, type, notTracked, before === undefined);
  return elementsText(listOrEmpty(value), type, before === undefined);
}

function membersText(
  object: JsonObject,
  before: JsonValue | undefined,
  type: OwnedType,
  notTracked: FieldSet | undefined,
  isOwned: boolean,
): string | undefined {
  const layout = type.layoutOf(object);
  const base = top;
  for (const { key, step, type: memberType } of layout.members) {
    const value = object[key];
    let old: JsonValue | undefined;
    if (before !== undefined && isObject(before) && Object.hasOwn(before, key)) old = before[key];
    const left = notTracked?.get(step);
    if (old === undefined && left && step === 'f:metadata') old = NOTHING; // only what is in it is owned
    let fields: string | undefined;
    if (value === undefined || left?.isOwned) fields = undefined;
    else if (old === undefined && memberType.shape === 'leaf') fields = LEAF;
    else fields = fieldsOf(value, old, memberType, left?.children);
    below[top++] = fields;
  }
  const text = layout.textFrom(base, isOwned);
  top = base;
  return text;
}

function elementsText(list: readonly JsonValue[], type: OwnedType, isOwned: boolean): string | undefined {
  const known = type.listOf(list);
  const element = type.element();
  const base = top;
  for (const item of list) below[top++] = element ? fieldsOf(item, undefined, element, undefined) : LEAF;
  const text = known.textFrom(base, isOwned);
  top = base;
  return text;
}
