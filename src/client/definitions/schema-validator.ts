/**
 * A validator out of the schema of a custom kind, so that what is wrong with a draft is told before it is sent.
 *
 * It says no more than the server would: a field that has a default may be missing, a field that is not described is the
 * server's to drop. Rules in CEL, formats of text, and patterns that this language does not have, are left to the server.
 * It never throws; it stops at a hundred issues.
 */
import type { SchemaIssue, StandardSchemaV1 } from '../objects/standard-schema.ts';
import type { StructuralSchema } from '../objects/structural-schema.ts';

type Path = readonly (string | number)[];
type Report = (path: Path, message: string) => void;

const LIMIT_ISSUES = 100;
const INT32 = 2 ** 31;

/** For `validate` of `defineResource`. */
export function schemaValidator<T = unknown>(schema: StructuralSchema): StandardSchemaV1<unknown, T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'longwatch',
      validate: (value) => {
        const issues: SchemaIssue[] = [];
        if (value !== undefined)
          check(schema, value, [], (path, message) => {
            if (issues.length < LIMIT_ISSUES) issues.push({ message, path });
          });
        return issues.length > 0 ? { issues } : { value: value as T };
      },
    },
  };
}

function check(schema: StructuralSchema, value: unknown, path: Path, report: Report): void {
  if (value === null) {
    if (!schema.nullable && schema.type !== undefined) report(path, 'must not be null');
    return;
  }
  const wanted = schema['x-kubernetes-int-or-string'] ? 'integer or string' : schema.type;
  if (wanted !== undefined && !isOfType(value, wanted)) {
    report(path, `must be ${withArticle(wanted)}`);
    return;
  }
  if (schema.enum && !schema.enum.some((one) => isEqual(one, value)))
    report(path, `must be one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`);
  if (typeof value === 'string') checkText(schema, value, path, report);
  else if (typeof value === 'number') checkNumber(schema, value, path, report);
  else if (Array.isArray(value)) checkList(schema, value, path, report);
  else if (typeof value === 'object') checkFields(schema, value as Record<string, unknown>, path, report);
  checkCombined(schema, value, path, report);
}

function checkText(schema: StructuralSchema, value: string, path: Path, report: Report): void {
  const { minLength, maxLength, pattern } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    const length = codePoints(value);
    if (minLength !== undefined && length < minLength) report(path, `must have at least ${minLength} characters`);
    if (maxLength !== undefined && length > maxLength) report(path, `must have at most ${maxLength} characters`);
  }
  if (pattern !== undefined && compiled(pattern)?.test(value) === false) report(path, `must match ${pattern}`);
}

function checkNumber(schema: StructuralSchema, value: number, path: Path, report: Report): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema;
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
    report(path, `must be ${exclusiveMinimum ? 'more than' : 'at least'} ${minimum}`);
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
    report(path, `must be ${exclusiveMaximum ? 'less than' : 'at most'} ${maximum}`);
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    report(path, `must be a multiple of ${multipleOf}`);
  if (format === 'int32' && (value < -INT32 || value >= INT32)) report(path, 'must fit into 32 bits');
}

function checkList(schema: StructuralSchema, value: readonly unknown[], path: Path, report: Report): void {
  const { minItems, maxItems, items } = schema;
  if (minItems !== undefined && value.length < minItems) report(path, `must have at least ${minItems} items`);
  if (maxItems !== undefined && value.length > maxItems) report(path, `must have at most ${maxItems} items`);
  if (items) for (const [index, item] of value.entries()) check(items, item, [...path, index], report);
}

function checkFields(schema: StructuralSchema, value: Record<string, unknown>, path: Path, report: Report): void {
  const { minProperties, maxProperties, required = [], properties = {}, additionalProperties } = schema;
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  if (minProperties !== undefined && names.length < minProperties)
    report(path, `must have at least ${minProperties} fields`);
  if (maxProperties !== undefined && names.length > maxProperties)
    report(path, `must have at most ${maxProperties} fields`);
  for (const name of required) {
    const isFilledIn = Object.hasOwn(properties, name) && properties[name]!.default !== undefined;
    if (!isFilledIn && (!Object.hasOwn(value, name) || value[name] === undefined))
      report([...path, name], 'is required');
  }
  for (const name of names) {
    const field = Object.hasOwn(properties, name)
      ? properties[name]
      : typeof additionalProperties === 'object'
        ? additionalProperties
        : undefined;
    if (field) check(field, value[name], [...path, name], report);
  }
}

function checkCombined(schema: StructuralSchema, value: unknown, path: Path, report: Report): void {
  const { allOf = [], anyOf, oneOf, not } = schema;
  for (const one of allOf) check(one, value, path, report);
  if (anyOf && !anyOf.some((one) => accepts(one, value))) report(path, 'must fit one of the shapes of anyOf');
  if (oneOf && oneOf.filter((one) => accepts(one, value)).length !== 1)
    report(path, 'must fit exactly one of the shapes of oneOf');
  if (not && accepts(not, value)) report(path, 'must not fit the shape of not');
}

function accepts(schema: StructuralSchema, value: unknown): boolean {
  let isGood = true;
  check(schema, value, [], () => {
    isGood = false;
  });
  return isGood;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer or string':
      return typeof value === 'string' || Number.isInteger(value);
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && !Array.isArray(value);
    default:
      return typeof value === type; // string, number, boolean
  }
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const patterns = new Map<string, RegExp | undefined>();

/** Undefined where the server's language of patterns has what ours has not. */
function compiled(pattern: string): RegExp | undefined {
  if (!patterns.has(pattern)) {
    try {
      patterns.set(pattern, new RegExp(pattern, 'u'));
    } catch {
      patterns.set(pattern, undefined);
    }
  }
  return patterns.get(pattern);
}
