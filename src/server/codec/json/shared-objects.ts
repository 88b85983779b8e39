/**
 * Objects of which the server makes the same JSON again and again: replicas differ in their names, and what is owned of each
 * of them is the same. Such an object is parsed once, frozen and handed to everybody, and its text stays with it, so that
 * nobody writes it out again.
 *
 * Bounded: the texts of the last few million characters are kept, older ones are made anew when they come again. What is
 * long is not kept at all, and knows its text all the same.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';

/** Of both generations, together twice that. */
const KEPT_LENGTH = 2 * 1024 * 1024;
const LONG = 64 * 1024;

const texts = new WeakMap<object, string>();
let recent = new Map<string, JsonObject>();
let older: typeof recent = new Map();
let length = 0;

/** The object of a text that was put together here: compact JSON, keys in order. It is shared, and frozen. */
export function sharedObject(text: string): JsonObject {
  const known = recent.get(text);
  if (known) return known;
  const object = older.get(text) ?? made(text);
  if (text.length <= LONG) keep(text, object);
  return object;
}

/** The compact JSON of a shared object; undefined for any other. */
export function sharedText(value: object): string | undefined {
  return texts.get(value);
}

function made(text: string): JsonObject {
  const object = frozen(JSON.parse(text) as JsonObject);
  texts.set(object, text);
  return object;
}

function keep(text: string, object: JsonObject): void {
  length += text.length;
  if (length > KEPT_LENGTH) {
    older = recent;
    recent = new Map();
    length = text.length;
  }
  recent.set(text, object);
}

function frozen<T extends JsonValue>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const key of Object.keys(value)) frozen((value as JsonObject)[key]!);
  return Object.freeze(value);
}
