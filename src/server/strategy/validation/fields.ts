/**
 * Reading and filling plain objects: what every rule does first.
 *
 * Readers never throw: what is absent, or of another type, reads as nothing (the schema has been checked before). As in
 * kube-apiserver an empty text, list or map is no different from none at all, and that is how values are compared.
 */
import type { JsonObject, JsonValue } from '../../../api/index.ts';
import { cloneJson, ownValue } from '../../codec/json/json-objects.ts';

type Owner = JsonObject | undefined;

export function objectAt(owner: Owner, name: string): JsonObject | undefined {
  const value = owner?.[name];
  return isObject(value) ? value : undefined;
}

/** The objects of a list. */
export function objectsAt(owner: Owner, name: string): readonly JsonObject[] {
  const value = owner?.[name];
  return Array.isArray(value) ? (value as JsonObject[]) : none;
}

export function textsAt(owner: Owner, name: string): readonly string[] {
  const value = owner?.[name];
  return Array.isArray(value) ? (value as string[]) : noTexts;
}

/** `''` if absent. */
export function textAt(owner: Owner, name: string): string {
  const value = owner?.[name];
  return typeof value === 'string' ? value : '';
}

/** To judge by, not to show: an integer beyond 2^53 comes rounded. */
export function numberAt(owner: Owner, name: string): number | undefined {
  const value = owner?.[name];
  return typeof value === 'bigint' ? Number(value) : typeof value === 'number' ? value : undefined;
}

export function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export function mapAt(owner: Owner, name: string): Readonly<Record<string, string>> | undefined {
  return objectAt(owner, name) as Record<string, string> | undefined;
}

/** The object in that field, made if it is missing. */
export function ensureObject(owner: JsonObject, name: string): JsonObject {
  const value = owner[name];
  if (isObject(value)) return value;
  const made: JsonObject = {};
  owner[name] = made;
  return made;
}

/** Sets what is absent. The defaults stay the caller's: what is more than a scalar is copied. */
export function fill(target: JsonObject, defaults: Readonly<JsonObject>): void {
  for (const name in defaults) {
    const value = target[name];
    if (value !== undefined && value !== null && value !== '') continue;
    const wanted = defaults[name]!;
    target[name] = typeof wanted === 'object' ? cloneJson(wanted) : wanted;
  }
}

/** The same where kube-apiserver keeps pointers: an empty text is a value, and stays. */
export function fillAbsent(target: JsonObject, defaults: Readonly<JsonObject>): void {
  for (const name in defaults) target[name] ??= defaults[name]!;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Absent, null, or an empty text, list or map; numbers and booleans are never empty. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const name in value) if (!isEmpty((value as JsonObject)[name])) return false;
  return true;
}

/** No entry at all: a map has an entry whatever its value. */
export function isEmptyMap(value: unknown): boolean {
  return !isObject(value) || Object.keys(value).length === 0;
}

/** Equal but for what is empty on both sides. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return isEmpty(a) && isEmpty(b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  }
  const [left, right] = [a as JsonObject, b as JsonObject];
  for (const name in left) if (!sameValue(left[name], right[name])) return false;
  for (const name in right) if (left[name] === undefined && !isEmpty(right[name])) return false;
  return true;
}

/**
 * Equal as kube-apiserver compares what it has decoded: only lists may be empty or absent, which is all the same. An optional
 * struct, text or number that says nothing is not none, and neither is an entry of a map without a value.
 */
export function sameStruct(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNone(a) || isNone(b)) return isNone(a) && isNone(b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, index) => sameStruct(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  for (const name in a) if (!sameStruct(a[name], b[name])) return false;
  for (const name in b) if (a[name] === undefined && !isNone(b[name])) return false;
  return true;
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** The value at a dotted path without lists in it. */
export function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path.split('.')) value = isObject(value) ? ownValue(value, name) : undefined;
  return value;
}

/** In the order of their keys, which is how refusals about maps are told. */
export function sortedEntries<T>(map: Readonly<Record<string, T>> | undefined): [string, T][] {
  if (!map) return [];
  const entries = Object.entries(map);
  // Maps are in order when they have been read: only what was put together here may have to be sorted.
  for (let i = 1; i < entries.length; i++)
    if (entries[i - 1]![0] > entries[i]![0]) return entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return entries;
}

const none: readonly JsonObject[] = [];
const noTexts: readonly string[] = [];
