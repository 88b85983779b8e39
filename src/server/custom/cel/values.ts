/**
 * Custom objects as values of CEL, and their schemas as its types.
 *
 * An object with declared fields becomes a value of a type of its own, so that a rule that names a field which is not
 * declared does not compile. Integers become big integers, maps become Map, times and spans what CEL has for them. What
 * a schema leaves open, or allows to be null, is of any type. Names that CEL cannot spell are escaped as in the
 * reference server: `a-b` is `a__dash__b`.
 */
import { Duration, type Environment } from '@marcbachmann/cel-js/evaluator';
import { type JsonObject, type JsonValue, parseGoDuration } from '../../../api/index.ts';
import { asObject, type Structural } from '../structural.ts';

/** How values of one schema are made; `size` is told of every list, map and text on the way. */
export type ValueForm = {
  /** As declarations name it. */
  readonly type: string;
  toValue(value: JsonValue, size: Size): unknown;
};

/** The largest collection in a value: what the cost of a rule is reckoned with. */
export class Size {
  largest = 1;
  longestText = 1;

  sawItems(count: number): void {
    if (count > this.largest) this.largest = count;
  }
}

type Shape = new () => Record<string, unknown>;

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);
const metadataNode: Structural['source'] = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/** The spelling of a field name in a rule; undefined if there is none. */
function celName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  const escaped = name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(escaped) ? escaped : undefined;
}

/** Declares the types of a schema in an environment, the innermost first. */
export class TypeDeclarer {
  readonly #environment: Environment;
  readonly #forms = new Map<Structural, ValueForm>();
  readonly #read: (source: JsonObject) => Structural;
  #count = 0;

  constructor(environment: Environment, read: (source: JsonObject) => Structural) {
    this.#environment = environment;
    this.#read = read;
  }

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
        return node.properties.size > 0 || isWhole ? this.#objectForm(node, isWhole) : dynamic;
      case 'array': {
        if (!node.items) return dynamic;
        const items = this.formOf(node.items);
        return {
          type: `list<${items.type}>`,
          toValue: (value, size) => {
            if (!Array.isArray(value)) return value;
            size.sawItems(value.length);
            return value.map((item) => items.toValue(item, size));
          },
        };
      }
      case 'string':
        return textForms[String(node.source.format)] ?? plainText;
      case 'integer':
        return { type: 'int', toValue: (value) => (typeof value === 'number' ? BigInt(value) : value) };
      case 'number':
        return { type: 'double', toValue: (value) => value };
      case 'boolean':
        return { type: 'bool', toValue: (value) => value };
      default:
        return dynamic;
    }
  }

  #mapForm(additional: Structural): ValueForm {
    const values = this.formOf(additional);
    return {
      type: `map<string, ${values.type}>`,
      toValue: (value, size) => {
        const entries = Object.entries(asObject(value) ?? {});
        size.sawItems(entries.length);
        return new Map(entries.map(([name, one]) => [name, values.toValue(one!, size)]));
      },
    };
  }

  #objectForm(node: Structural, isWhole: boolean): ValueForm {
    const fields = new Map<string, readonly [spelling: string, form: ValueForm]>();
    const add = (name: string, form: ValueForm) => {
      const spelling = celName(name);
      if (spelling !== undefined) fields.set(name, [spelling, form]);
    };
    for (const [name, child] of node.properties) add(name, this.formOf(child));
    if (isWhole) {
      add('apiVersion', plainText);
      add('kind', plainText);
      add('metadata', this.#objectForm(this.#read(metadataNode), false));
    }
    const type = `Object${++this.#count}`;
    const shape: Shape = class {} as Shape;
    const declared = Object.fromEntries([...fields.values()].map(([spelling, form]) => [spelling, form.type]));
    this.#environment.registerType(type, { ctor: shape, fields: declared });
    this.#environment.registerOperator(`${type} == ${type}`, sameValues);
    return {
      type,
      toValue: (value, size) => {
        const object = asObject(value);
        if (!object) return value;
        const made = new shape();
        for (const [name, [spelling, form]] of fields) {
          const member = Object.hasOwn(object, name) ? object[name] : undefined;
          if (member !== undefined) made[spelling] = form.toValue(member, size);
        }
        return made;
      },
    };
  }
}

const plainText: ValueForm = {
  type: 'string',
  toValue: (value, size) => {
    if (typeof value === 'string' && value.length > size.longestText) size.longestText = value.length;
    return value;
  },
};

const time: ValueForm = { type: 'google.protobuf.Timestamp', toValue: (value) => new Date(String(value)) };
const textForms: Readonly<Record<string, ValueForm>> = {
  'date-time': time,
  date: time,
  duration: { type: 'google.protobuf.Duration', toValue: (value) => toDuration(String(value)) },
  byte: { type: 'bytes', toValue: (value) => new Uint8Array(Buffer.from(String(value), 'base64')) },
};

const dynamic: ValueForm = { type: 'dyn', toValue: toDynamic };

function toDynamic(value: JsonValue, size: Size): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    size.sawItems(value.length);
    return value.map((item) => toDynamic(item, size));
  }
  const entries = Object.entries(value);
  size.sawItems(entries.length);
  return new Map(entries.map(([name, one]) => [name, toDynamic(one!, size)]));
}

function toDuration(text: string): Duration {
  const nanos = parseGoDuration(text);
  return new Duration(nanos / 1_000_000_000n, Number(nanos % 1_000_000_000n));
}

export function sameValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return isNumber(a) && isNumber(b) && Number(a) === Number(b);
  }
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Duration && b instanceof Duration) return a.seconds === b.seconds && a.nanos === b.nanos;
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && sameValues(value, b.get(key)));
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, i) => sameValues(one, b[i]));
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => name in b && sameValues((a as JsonObject)[name], (b as JsonObject)[name]))
  );
}

function isNumber(value: unknown): boolean {
  return typeof value === 'bigint' || typeof value === 'number';
}
