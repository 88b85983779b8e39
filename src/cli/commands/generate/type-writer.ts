/**
 * Interfaces out of the schema of a custom kind: one for each object with fields of its own, named after the way to it
 * (`WidgetSpecPorts`), with what the schema says of each field as a comment.
 *
 * A field is optional unless the schema requires it and the server fills in nothing for it. What is not described is
 * `unknown`. Names are given once: a second one that would be the same gets a number.
 */
import type { StructuralSchema } from '../../../client/objects/structural-schema.ts';
import type { Names } from './names.ts';
import { docComment, propertyName, quoted, typedLine } from './source-text.ts';

export class TypeWriter {
  readonly #names: Names;
  readonly #written: string[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  /** All interfaces, in the order in which they are used. */
  get text(): string {
    return this.#written.join('\n');
  }

  /** The object of a kind, by the name that it has; its metadata is what all objects have. */
  writeKind(name: string, schema: StructuralSchema, deprecation?: string): void {
    const { apiVersion: _, kind: __, metadata: ___, ...properties } = schema.properties ?? {};
    const required = (schema.required ?? []).filter((field) => Object.hasOwn(properties, field));
    this.#writeInterface(
      name,
      { ...schema, properties, required },
      {
        base: ' extends AnyObject',
        more: deprecationLines(deprecation),
      },
    );
  }

  #writeInterface(
    name: string,
    schema: StructuralSchema,
    { base = '', more = [] }: { readonly base?: string; readonly more?: readonly string[] } = {},
  ): void {
    const at = this.#written.length;
    this.#written.push(''); // its place is before those it uses
    const { properties = {}, required = [], description } = schema;
    let body = '';
    for (const [field, inner] of Object.entries(properties)) {
      const isRequired = required.includes(field) && inner.default === undefined;
      const types = this.#typesOf(inner, `${name}${pascal(field)}`);
      const about = [inner.description ?? '', ...factsOf(inner)].filter((line) => line !== '');
      body += docComment(about, '  ') + typedLine(`  ${propertyName(field)}${isRequired ? '' : '?'}`, types, '  ');
    }
    if (schema['x-kubernetes-preserve-unknown-fields']) body += '  [field: string]: unknown;\n';
    const head = `${docComment([description ?? '', ...more], '')}export interface ${name}${base} {`;
    this.#written[at] = body === '' ? `${head}}\n` : `${head}\n${body}}\n`;
  }

  /** The members of a union. */
  #typesOf(schema: StructuralSchema, name: string): string[] {
    const { nullable, enum: values } = schema;
    const types = values ? [...new Set(values.map(literalType))] : this.#plainTypes(schema, name);
    return nullable && !types.includes('null') && !types.includes('unknown') ? [...types, 'null'] : types;
  }

  #plainTypes(schema: StructuralSchema, name: string): string[] {
    const { type, items, additionalProperties, properties } = schema;
    if (schema['x-kubernetes-int-or-string']) return ['number', 'string'];
    switch (type) {
      case 'string':
      case 'boolean':
      case 'number':
        return [type];
      case 'integer':
        return ['number'];
      case 'array': {
        const types = items ? this.#typesOf(items, name) : ['unknown'];
        return [types.length === 1 ? `${types[0]}[]` : `(${types.join(' | ')})[]`];
      }
      case 'object':
        break;
      default:
        return ['unknown'];
    }
    if (properties && Object.keys(properties).length > 0) {
      const given = this.#names.give(name);
      this.#writeInterface(given, schema['x-kubernetes-embedded-resource'] ? withType(schema) : schema);
      return [given];
    }
    if (schema['x-kubernetes-embedded-resource'])
      return ['{ apiVersion: string; kind: string; [field: string]: unknown }'];
    if (typeof additionalProperties === 'object')
      return [`Record<string, ${this.#typesOf(additionalProperties, name).join(' | ')}>`];
    return ['Record<string, unknown>'];
  }
}

/** An object within an object says what it is. */
function withType(schema: StructuralSchema): StructuralSchema {
  const text = { type: 'string' };
  const { properties = {}, required = [] } = schema;
  return {
    ...schema,
    properties: { apiVersion: text, kind: text, ...properties },
    required: ['apiVersion', 'kind', ...required],
  };
}

/** What a type cannot say. */
function factsOf(schema: StructuralSchema): string[] {
  const facts: string[] = [];
  if (schema.default !== undefined) facts.push(`Default: ${JSON.stringify(schema.default)}`);
  return facts;
}

function literalType(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'unknown';
}

/** As editors understand it. */
export function deprecationLines(deprecation: string | undefined): string[] {
  return deprecation === undefined ? [] : [`@deprecated ${deprecation}`];
}

export function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}
