/** How long the JSON of a value is at least, without writing it: for who has to know whether it can fit anywhere. */
import type { JsonValue } from '../../../api/json.ts';

/** In bytes. Never more than it takes; beyond `limit` it is not counted on. */
export function leastBytes(value: JsonValue | undefined, limit: number): number {
  if (typeof value === 'string') return value.length + 2; // a unit of UTF-16 is a byte of UTF-8 at least
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 1;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && bytes <= limit; i++) bytes += 1 + leastBytes(value[i], limit - bytes);
    return value.length > 0 ? bytes - 1 : bytes;
  }
  let members = 0;
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    members++;
    bytes += key.length + 4 + leastBytes(member, limit - bytes);
    if (bytes > limit) break;
  }
  return members > 0 ? bytes - 1 : bytes;
}
