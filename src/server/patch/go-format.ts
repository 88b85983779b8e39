/** Values as Go's `%v` prints them in error texts, `map[a:1 b:[x y]]` with keys sorted, and their types as its `%T` does. */
import type { JsonValue } from '../../api/json.ts';

export function goFormat(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(goFormat).join(' ')}]`;
  const members = Object.keys(value).sort();
  return `map[${members.map((key) => `${key}:${goFormat(value[key])}`).join(' ')}]`;
}

/** The type that Go reads a value of JSON as, as its `%T` prints it. */
export function goType(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'object') return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'bigint') return 'int64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
