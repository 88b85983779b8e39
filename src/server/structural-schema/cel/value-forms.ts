/**
 * Custom objects as values of CEL, and their schemas as its types.
 *
 * An object with declared fields is of a type of its own, so that a rule that names a field which is not declared does
 * not compile. Integers become ints, maps maps, times and spans what CEL has for them. What a schema leaves open, or
 * allows to be null, is of any type. Names that CEL cannot spell are escaped as in kube-apiserver: `a-b` is
 * `a__dash__b`; what has no spelling, or is kept though it is not declared, counts only when whole objects are compared. A value that is not what its schema says, as old ones may be, stays what it is, and fails where it is
 * used. Nothing is made before it is asked for, and no part of an object is made twice.
 */
import type { JsonObject, JsonValue } from '../../../api/index.ts';
import { asObject, readStructural, type Structural } from '../../../schemas/structural/structural.ts';
import { toDuration, toTimestamp } from '../../cel/library/conversions.ts';
import { type CelType, dyn, listOf, mapOf, plainType, string } from '../../cel/values/types.ts';
import { CelError, type Value } from '../../cel/values/values.ts';

/** Values that are made already, by the JSON they are of; not kept where nobody can ask for the same twice. */
export class MadeValues {
  readonly #typed: Map<object, Value> | undefined;
  readonly #untyped: Map<object, Value> | undefined;

  constructor(isKept: boolean) {
    if (!isKept) return;
    this.#typed = new Map();
    this.#untyped = new Map();
  }

  get(json: object, isTyped: boolean): Value {
    return (isTyped ? this.#typed : this.#untyped)?.get(json);
  }

  keep<T>(json: object, isTyped: boolean, value: T): T {
    (isTyped ? this.#typed : this.#untyped)?.set(json, value);
    return value;
  }
}

/** How values of one schema are made. */
export type ValueForm = {
  readonly type: CelType;
  readonly toValue: (value: JsonValue, made: MadeValues) => Value;
};

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const metadataNode: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/** The spelling of a field name in a rule; undefined if there is none. */
export function celName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** The forms of one schema, each made once. */
export class ValueForms {
  readonly #forms = new Map<Structural, ValueForm>();

  formOf(node: Structural, isWhole = false): ValueForm {
    let form = this.#forms.get(node);
    if (!form) {
      form = this.#makeForm(node, isWhole || node.isEmbedded);
      this.#forms.set(node, form);
    }
    return form;
  }

  #makeForm(node: Structural, isWhole: boolean): ValueForm {
    if (node.isNullable || node.isIntOrString) return dynamic;
    switch (node.type) {
      case 'object':
        if (node.additional) return this.#mapForm(node.additional);
        return node.source.additionalProperties === true ? dynamic : new ObjectForm(this, node, isWhole);
      case 'array':
        return node.items ? this.#listForm(node.items) : dynamic;
      case 'string':
        return textForms.get(String(node.source.format)) ?? plainText;
      case 'integer':
        return integer;
      case 'number':
        return { type: plainType('double'), toValue: (value) => (typeof value === 'bigint' ? Number(value) : value) };
      case 'boolean':
        return { type: plainType('bool'), toValue: (value) => value };
      default:
        return dynamic;
    }
  }

  #listForm(items: Structural): ValueForm {
    const form = this.formOf(items);
    return {
      type: listOf(form.type),
      toValue: (value, made) => {
        if (!Array.isArray(value)) return toDynamic(value, made);
        return (
          made.get(value, true) ??
          made.keep(
            value,
            true,
            mapped(value, (item) => form.toValue(item, made)),
          )
        );
      },
    };
  }

  #mapForm(additional: Structural): ValueForm {
    const form = this.formOf(additional);
    return {
      type: mapOf(string, form.type),
      toValue: (value, made) => {
        const object = asObject(value);
        if (!object) return toDynamic(value, made);
        const known = made.get(object, true);
        if (known !== undefined) return known;
        const map = new Map<string, Value>();
        for (const name of Object.keys(object)) map.set(name, form.toValue(object[name]!, made));
        return made.keep(object, true, map);
      },
    };
  }
}

type Field = { readonly spelling: string; readonly node: Structural; form: ValueForm | undefined };

/** An object with declared fields; their forms are made when the first value or the first rule wants them. */
class ObjectForm implements ValueForm {
  readonly type: CelType;
  readonly #forms: ValueForms;
  readonly #fields: ReadonlyMap<string, Field>;
  readonly #keepsUnknown: boolean;

  constructor(forms: ValueForms, node: Structural, isWhole: boolean) {
    this.#forms = forms;
    this.#fields = fieldsOf(node, isWhole);
    this.#keepsUnknown = node.keepsUnknown;
    this.type = new ObjectType(forms, this.#fields);
  }

  toValue(value: JsonValue, made: MadeValues): Value {
    const object = asObject(value);
    if (!object) return toDynamic(value, made);
    const known = made.get(object, true);
    if (known !== undefined) return known;
    const map = new Map<string, Value>();
    for (const name of Object.keys(object)) {
      const [field, member] = [this.#fields.get(name), object[name]];
      if (member === undefined) continue;
      if (field) {
        field.form ??= this.#forms.formOf(field.node);
        map.set(field.spelling, field.form.toValue(member, made));
      } else if (this.#keepsUnknown) map.set(`\0${name}`, toDynamic(member, made));
    }
    return made.keep(object, true, map);
  }
}

class ObjectType {
  readonly kind = 'object';
  readonly name = 'object';
  readonly #forms: ValueForms;
  readonly #declared: ReadonlyMap<string, Field>;
  #fields: ReadonlyMap<string, CelType> | undefined;

  constructor(forms: ValueForms, declared: ReadonlyMap<string, Field>) {
    this.#forms = forms;
    this.#declared = declared;
  }

  get fields(): ReadonlyMap<string, CelType> {
    this.#fields ??= new Map(
      [...this.#declared.values()].map(({ spelling, node }) => [spelling, this.#forms.formOf(node).type]),
    );
    return this.#fields;
  }
}

function fieldsOf({ properties }: Structural, isWhole: boolean): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  const add = (name: string, node: Structural) =>
    fields.set(name, { spelling: celName(name) ?? `\0${name}`, node, form: undefined });
  for (const [name, node] of properties) add(name, node);
  if (isWhole) for (const [name, node] of objectFields()) add(name, node);
  return fields;
}

/** What rules see of every whole object, whatever its schema says. */
export function objectFields(): [name: string, node: Structural][] {
  return [
    ['apiVersion', readStructural({ type: 'string' })],
    ['kind', readStructural({ type: 'string' })],
    ['metadata', readStructural(metadataNode)],
  ];
}

const plainText: ValueForm = { type: string, toValue: (value) => value };
const integer: ValueForm = { type: plainType('int'), toValue: toNumber };
const dynamic: ValueForm = { type: dyn, toValue: toDynamic };

function textForm(kind: Parameters<typeof plainType>[0], read: (text: string) => Value): ValueForm {
  return {
    type: plainType(kind),
    toValue: (value) => {
      if (typeof value !== 'string') return value;
      try {
        return read(value);
      } catch (err) {
        if (err instanceof CelError) return value;
        throw err;
      }
    },
  };
}

const textForms: ReadonlyMap<string, ValueForm> = new Map([
  ['date-time', textForm('timestamp', toTimestamp)],
  ['date', textForm('timestamp', (text) => toTimestamp(`${text}T00:00:00Z`))],
  ['duration', textForm('duration', toDuration)],
  ['byte', textForm('bytes', (text) => new Uint8Array(Buffer.from(text, 'base64')))],
]);

function toNumber(value: JsonValue): Value {
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value;
}

function mapped(list: readonly JsonValue[], toValue: (item: JsonValue) => Value): Value[] {
  const values = new Array<Value>(list.length);
  for (let i = 0; i < list.length; i++) values[i] = toValue(list[i]!);
  return values;
}

function toDynamic(value: JsonValue, made: MadeValues): Value {
  if (typeof value !== 'object' || value === null) return toNumber(value);
  const known = made.get(value, false);
  if (known !== undefined) return known;
  if (Array.isArray(value))
    return made.keep(
      value,
      false,
      mapped(value, (item) => toDynamic(item, made)),
    );
  const map = new Map<string, Value>();
  for (const name of Object.keys(value)) map.set(name, toDynamic(value[name]!, made));
  return made.keep(value, false, map);
}
