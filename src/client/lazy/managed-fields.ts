/**
 * Objects of watches and of long lists are decoded but for `metadata.managedFields`: who set which field is often half of an object's text,
 * and hardly anybody looks. It is decoded when somebody does.
 *
 * What is always true: text is decoded here only if JSON.parse would decode it, and to the same; what is put off is known
 * to be JSON, but for who trusts the server to write that. The object is a plain one to all who read, write, copy, compare, print or freeze it: that the property
 * is a pair of functions shows in its descriptor only. Either its text is held or its value, never both.
 */
import { isAscii } from 'node:buffer';
import { inspect } from 'node:util';
import { TransportError } from '../errors.ts';
import type { StoredMeta } from '../objects/objects.ts';
import { endOfJson } from './check-json.ts';
import { type Mark, makeMark, ODD, parsedOrNothing, type TextEncoding } from './json-text.ts';

type Held = { text: string | undefined; value: StoredMeta['managedFields'] };

/** A property and no private field, so that it is also found by way of a Proxy or an object that inherits. */
const HELD = Symbol('managedFields');
type Holding = { [HELD]?: Held; managedFields?: unknown };

const CLOSE_LIST = 93;
const CLOSE = 125;
const KEY = 'managedFields';
/** Without what comes before: a search that begins with a rare letter takes a quarter of the time. */
const BEGIN = Buffer.from('gedFields":[{');
/** Stands in the text for what is put off. */
export const MANAGED_FIELDS: Mark = makeMark();

/** What JSON.parse makes of the line of an event, or its error. */
export function parseEventLine(line: Buffer, encoding: TextEncoding): unknown {
  return parsePuttingOff(line, encoding, '', '', objectOfEvent, endOfJson);
}

/**
 * The same of a line that is JSON. One that is broken only in what is put off is found out when that is read: to look for
 * it beforehand takes a fifth of the time.
 */
export function parseTrusted(line: Buffer, encoding: TextEncoding): unknown {
  return parsePuttingOff(line, encoding, '', '', objectOfEvent, endOfTrusted);
}

function objectOfEvent(event: object): unknown[] {
  return [(event as { object?: unknown }).object];
}

/** What JSON.parse makes of items with commas between them, or its error. */
export function parseItems(items: Buffer): unknown[] {
  const encoding = isAscii(items) ? 'latin1' : 'utf8';
  return parsePuttingOff(items, encoding, '[', ']', (list) => list as unknown[], endOfJson) as unknown[];
}

function parsePuttingOff(
  bytes: Buffer,
  encoding: TextEncoding,
  before: string,
  after: string,
  objectsOf: (parsed: object) => readonly unknown[],
  endOf: EndOf,
): unknown {
  const cut = cutManagedFields(bytes, encoding, endOf);
  const parsed = cut && parsedOrNothing(before + cut.text + after);
  const objects = parsed && objectsOf(parsed).filter(isPutOff);
  // Not all of them are of the objects' own metadata, or something is broken: the whole tells.
  if (objects?.length !== cut?.putOff.length || !objects) return JSON.parse(before + bytes.toString(encoding) + after);
  for (const [i, object] of objects.entries()) putOff(object, cut!.putOff[i]!);
  return parsed;
}

/** The place after the list of objects that begins at `at`, or ODD. */
type EndOf = (bytes: Buffer, at: number) => number;

/**
 * Of what is JSON: the first bracket that closes. Inside a string or another list it would leave a quote or a brace without
 * its other half, and the rest would be no JSON any more: then the whole is decoded.
 */
function endOfTrusted(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(CLOSE_LIST, at) + 1;
  return bytes[end - 2] === CLOSE ? end : endOfJson(bytes, at);
}

/** Undefined if there are none, or none that can be told to be JSON. */
function cutManagedFields(
  bytes: Buffer,
  encoding: TextEncoding,
  endOf: EndOf,
): { text: string; putOff: string[] } | undefined {
  const putOff: string[] = [];
  let text = '';
  let from = 0;
  for (let at = findManagedFields(bytes); at >= 0; at = findManagedFields(bytes, from)) {
    const end = endOf(bytes, at);
    if (end === ODD) return undefined;
    text += bytes.toString(encoding, from, at) + MANAGED_FIELDS.text;
    putOff.push(bytes.toString(encoding, at, end));
    from = end;
  }
  return from === 0 ? undefined : { text: text + bytes.toString(encoding, from), putOff };
}

/** Decodes what was put off, and leaves no trace: of what is to be frozen. */
export function settle({ metadata }: { readonly metadata: object }): void {
  if (!Object.getOwnPropertyDescriptor(metadata, HELD)?.configurable) return; // there is nothing, or it was frozen before
  const { [KEY]: value } = metadata as Holding;
  for (const key of [HELD, inspect.custom]) Reflect.deleteProperty(metadata, key);
  if (Object.hasOwn(metadata, KEY)) Object.defineProperty(metadata, KEY, propertyOf(value));
}

/** Gives up the text of what was removed or replaced. */
export function forgetRemoved({ metadata }: { readonly metadata: object }): void {
  if (!Object.hasOwn(metadata, HELD)) return;
  const held = (metadata as Holding)[HELD];
  if (held && Object.getOwnPropertyDescriptor(metadata, KEY)?.get !== reading.get) held.text = undefined;
}

/** Where they begin; -1 if there are none. */
export function findManagedFields(bytes: Buffer, from = 0): number {
  const found = bytes.indexOf(BEGIN, from);
  return found < 0 ? -1 : found + BEGIN.length - 2;
}

/** The mark is where it belongs. */
export function isPutOff(object: unknown): object is { metadata: object } {
  const metadata = (object as { metadata?: Holding | null } | null | undefined)?.metadata;
  return metadata?.[KEY] === MANAGED_FIELDS.value && !Object.hasOwn(metadata, '__proto__');
}

/** What is put off of an object, and was not looked at. */
export function textPutOff({ metadata }: { readonly metadata: object }): string | undefined {
  return (metadata as Holding)[HELD]?.text;
}

/** Of an object that has the mark: the text takes its place. */
export function putOff(object: { metadata: object }, text: string): void {
  object.metadata = puttingOff(object.metadata, text);
}

/** The same with the property in its place: it is made anew, for V8 is slow with objects whose properties turn. */
function puttingOff(metadata: Holding, text: string): Holding {
  const made: Record<PropertyKey, unknown> = {};
  Object.defineProperty(made, HELD, hiddenOf({ text, value: undefined } satisfies Held));
  Object.defineProperty(made, inspect.custom, printing);
  for (const key in metadata)
    if (key === KEY) Object.defineProperty(made, key, reading);
    else made[key] = metadata[key as keyof Holding];
  return made;
}

/** The same functions for all objects: else V8 gives each of them a shape of its own. */
const reading = {
  enumerable: true,
  configurable: true,
  get(this: Holding): unknown {
    const held = this[HELD];
    if (held?.text !== undefined) {
      held.value = parsedFields(held.text);
      held.text = undefined;
    }
    return held?.value;
  },
  set(this: Holding, value: unknown): void {
    if (Object.isFrozen(this))
      throw new TypeError(`Cannot assign to read only property '${KEY}' of object '#<Object>'`);
    Object.defineProperty(this, KEY, propertyOf(value));
    forgetRemoved({ metadata: this });
  },
} satisfies PropertyDescriptor;

function parsedFields(text: string): StoredMeta['managedFields'] {
  try {
    return JSON.parse(text) as StoredMeta['managedFields'];
  } catch (cause) {
    throw new TransportError('body', `Cannot read the managed fields of an object: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Printed as what it is read as. */
const printing = hiddenOf(function (this: object) {
  return { ...this };
});

function hiddenOf(value: unknown): PropertyDescriptor {
  return { value, enumerable: false, configurable: true, writable: true };
}

function propertyOf(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true };
}
