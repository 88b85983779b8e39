/**
 * JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces.
 *
 * Pure: neither argument is written to, and what the patch does not touch is shared with the answer, so an answer that
 * is the target itself means that nothing changed. Keys are data: `__proto__` is one like any other.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, jsonEqual, ownValue, setKey } from '../codec/json/json-objects.ts';

export function mergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return jsonEqual(target, patch) ? target! : patch;
  const base: JsonObject = isObject(target) ? target : {};
  let result: JsonObject | undefined = base === target ? undefined : {};
  for (const key of Object.keys(patch)) {
    const change = patch[key] ?? null;
    const before = ownValue(base, key);
    if (change === null) {
      if (before === undefined) continue;
      result ??= copyOf(base);
      delete result[key];
      continue;
    }
    const after = mergePatch(before, change);
    if (after === before) continue;
    result ??= copyOf(base);
    setKey(result, key, after);
  }
  return result ?? base;
}

export function copyOf(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const key of Object.keys(object)) setKey(copy, key, object[key]!);
  return copy;
}
