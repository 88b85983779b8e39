/** Values as Go's `%v` prints them in error texts: `map[a:1 b:[x y]]`, keys sorted. */
import type { JsonValue } from '../../api/json.ts';

export function goFormat(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(goFormat).join(' ')}]`;
  const members = Object.keys(value).sort();
  return `map[${members.map((key) => `${key}:${goFormat(value[key])}`).join(' ')}]`;
}
