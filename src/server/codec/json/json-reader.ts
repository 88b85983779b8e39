/**
 * JSON text to values, as strict as kube-apiserver: one value, no duplicate key unnoticed, no nesting without
 * end, no integer changed on the way.
 *
 * The fast way is JSON.parse after one look over the text (`survey`), which counts members, depth and odd numbers.
 * Only what that look finds (a duplicate key, depth, a long number) and what JSON.parse refuses is read again by
 * the slow reader, which knows paths and Go's error texts.
 *
 * Integers: a plain one is an int64 where it fits, as in Go: a number up to 2^53, a bigint beyond. What does not fit, and
 * anything written with a fraction or an exponent, is a double and stays what JSON.parse makes of it.
 *
 * It fails with a JsonSyntaxError whose message is what Go's encoding/json would say.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { cutText } from '../../../api/json-text.ts';
import { exactInteger } from '../scalars/int64.ts';
import { type FaultPath, maxFaults } from './fault-paths.ts';
import { setKey } from './json-objects.ts';

export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

export type JsonReading = {
  readonly value: JsonValue;
  /** Where keys occur again, in the order they were met, at most 100; the last value won. */
  readonly duplicates: readonly FaultPath[];
};

const shownNumberBytes = 100;
/** The reference stops at 10000; here whatever walks a value recurses, and no kind is a tenth as deep. */
export const maxDepth = 1000;

/** More in one map than any kind has use for; each costs many times its length in whatever walks over it. */
export const maxMembers = 65_536;
export const tooManyMembers: string = `a map with more than ${maxMembers} entries`;

/** A text that has nothing odd in it but perhaps a key that occurs again: then it has more members than its value. */
export type CountedJson = { readonly value: JsonValue; readonly members: number };

/** Undefined: there is something odd, for `readJson` to look at. `bytes`: what the text was read from. */
export function countJson(text: string, bytes: Uint8Array): CountedJson | undefined {
  const { members, depth, hasOddNumber, hasLargeMap } = survey(bytes);
  if (hasOddNumber || hasLargeMap || depth > maxDepth) return undefined;
  const value = parsed(text);
  return value === undefined ? undefined : { value, members };
}

/** `bytes`: what the text was read from, where that is at hand. */
export function readJson(text: string, bytes: Uint8Array = Buffer.from(text)): JsonReading {
  const found = survey(bytes);
  if (found.hasLargeMap) throw new JsonSyntaxError(tooManyMembers);
  const value = found.depth > maxDepth ? undefined : parsed(text);
  // What JSON.parse refuses, the slow reader refuses, too, and says why in Go's words.
  if (value === undefined || found.hasOddNumber || found.members !== countMembers(value)) return slowRead(text);
  return { value, duplicates: [] };
}

/** The value of a text that is JSON with nothing odd in it; undefined for any other. */
export function tryJson(text: string): JsonValue | undefined {
  const { members, depth, hasOddNumber, hasLargeMap } = survey(Buffer.from(text));
  if (depth > maxDepth || hasLargeMap) return undefined;
  const value = parsed(text);
  if (value === undefined || members !== countMembers(value)) return undefined;
  try {
    return hasOddNumber ? slowRead(text).value : value;
  } catch {
    return undefined;
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A value of 16 digits and more, perhaps inside a text: then the exact reader has to look. */
const longInteger = /[:,[]\s*-?[0-9]{16}/;

/** JSON that was checked when it was written, e.g. what is stored: nothing is looked for but integers beyond 2^53. */
export function parseJson(text: string): JsonValue {
  return longInteger.test(text) ? slowRead(text).value : (JSON.parse(text) as JsonValue);
}

type Survey = {
  readonly members: number;
  readonly depth: number;
  readonly hasOddNumber: boolean;
  readonly hasLargeMap: boolean;
};

/**
 * Counts what JSON.parse does not tell: every member, the depth, and whether there are numbers that it may change: those
 * of 16 digits and more, and those with an exponent. Of what is no JSON the counts mean nothing; it ends all the same.
 *
 * All it looks for is ASCII, and no byte of any other character is.
 */
function survey(bytes: Uint8Array): Survey {
  /** Of the maps and lists around, the outermost first. */
  const sizes: number[] = [0];
  let members = 0;
  let level = 0;
  let depth = 0;
  let digits = 0;
  let hasOddNumber = false;
  let hasLargeMap = false;
  for (let i = 0; i < bytes.length; i++) {
    const code = bytes[i]!;
    if (code === QUOTE) {
      i = endOfText(bytes, i);
      if (i < 0) break;
    } else if (code === 0x3a) {
      members++;
      if (++sizes[level]! > maxMembers) hasLargeMap = true;
    } else if (code === 0x7b || code === 0x5b) {
      sizes[++level] = 0;
      if (level > depth) depth = level;
      if (depth > maxDepth) break;
    } else if ((code === 0x7d || code === 0x5d) && level > 0) level--;
    if (code >= 0x30 && code <= 0x39) {
      if (++digits > 15) hasOddNumber = true;
    } else {
      if (digits > 0 && (code | 0x20) === 0x65) hasOddNumber = true; // e
      digits = 0;
    }
  }
  return { members, depth, hasOddNumber, hasLargeMap };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Most texts are so short that to look at each byte costs less than a call. */
const SHORT_BYTES = 64;

/** Where the quotes that open here close; -1 if they never do. */
function endOfText(bytes: Uint8Array, from: number): number {
  const near = Math.min(bytes.length, from + SHORT_BYTES);
  for (let at = from + 1; at < near; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at++;
  }
  for (let end = from; ; ) {
    end = bytes.indexOf(QUOTE, end + 1);
    if (end < 0) return -1;
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if ((slashes & 1) === 0) return end;
  }
}

/** Of all objects in a value. */
export function countMembers(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countMembers(item);
    return count;
  }
  for (const key in value) {
    count++;
    const child = value[key];
    if (typeof child === 'object') count += countMembers(child);
  }
  return count;
}

function slowRead(text: string): JsonReading {
  const reader = new SlowReader(text);
  return { value: reader.document(), duplicates: reader.duplicates };
}

const whitespace = /[ \t\n\r]*/y;
/** All of a text but quotes, backslashes and what is below the blank. */
const plainCharacters = /[ !#-[\]-\uffff]*/y;
const numberToken = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;

class SlowReader {
  readonly duplicates: FaultPath[] = [];
  readonly #text: string;
  /** Where the reader is. */
  readonly #steps: (string | number)[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue {
    this.#skipSpace();
    const value = this.#value(1);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
    return value;
  }

  #value(level: number): JsonValue {
    if (level > maxDepth) throw new JsonSyntaxError('exceeded max depth');
    const char = this.#text[this.#at];
    if (char === '{') return this.#object(level);
    if (char === '[') return this.#array(level);
    if (char === '"') return this.#string();
    if (char === 't') return this.#word('true', true);
    if (char === 'f') return this.#word('false', false);
    if (char === 'n') return this.#word('null', null);
    if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) return this.#number();
    return this.#fail('looking for beginning of value');
  }

  #object(level: number): JsonObject {
    const object: JsonObject = {};
    this.#at++;
    this.#skipSpace();
    if (this.#take('}')) return object;
    for (;;) {
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
      const key = this.#string();
      if (Object.hasOwn(object, key) && this.duplicates.length < maxFaults) this.duplicates.push([...this.#steps, key]);
      this.#skipSpace();
      if (!this.#take(':')) this.#fail('after object key');
      this.#skipSpace();
      this.#steps.push(key);
      setKey(object, key, this.#value(level + 1));
      this.#steps.pop();
      this.#skipSpace();
      if (this.#take('}')) return object;
      if (!this.#take(',')) this.#fail('after object key:value pair');
      this.#skipSpace();
    }
  }

  #array(level: number): JsonValue[] {
    const array: JsonValue[] = [];
    this.#at++;
    this.#skipSpace();
    if (this.#take(']')) return array;
    for (;;) {
      this.#steps.push(array.length);
      array.push(this.#value(level + 1));
      this.#steps.pop();
      this.#skipSpace();
      if (this.#take(']')) return array;
      if (!this.#take(',')) this.#fail('after array element');
      this.#skipSpace();
    }
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      plainCharacters.lastIndex = this.#at;
      plainCharacters.test(this.#text);
      this.#at = plainCharacters.lastIndex;
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code)) return this.#fail('in string literal');
      if (code < 0x20) return this.#fail('in string literal');
      this.#at++;
      if (code === 0x22) return JSON.parse(this.#text.slice(start, this.#at)) as string;
      if (code === 0x5c) this.#escape();
    }
  }

  #escape(): void {
    const char = this.#text[this.#at];
    if (char !== 'u') {
      if (char === undefined || !'"\\/bfnrt'.includes(char)) this.#fail('in string escape code');
      this.#at++;
      return;
    }
    this.#at++;
    for (let i = 0; i < 4; i++) {
      if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape');
      this.#at++;
    }
  }

  #number(): number | bigint {
    numberToken.lastIndex = this.#at;
    const found = numberToken.exec(this.#text);
    if (!found) {
      this.#at++;
      return this.#fail('in numeric literal');
    }
    this.#at = numberToken.lastIndex;
    const next = this.#text[this.#at];
    if (next === '.' || next === 'e' || next === 'E') {
      this.#at++;
      if (next !== '.' && /[+-]/.test(this.#text[this.#at] ?? '')) this.#at++;
      this.#fail(next === '.' ? 'after decimal point in numeric literal' : 'in exponent of numeric literal');
    }
    const isInteger = found[1] === undefined && found[2] === undefined;
    const value = isInteger ? exactInteger(found[0]) : Number(found[0]);
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
      throw new JsonSyntaxError(`cannot unmarshal number ${cutText(found[0], shownNumberBytes)}: out of range`);
    return value;
  }

  #word<T extends JsonValue>(word: string, value: T): T {
    for (let i = 1; i < word.length; i++) {
      this.#at++;
      if (this.#text[this.#at] !== word[i]) this.#fail(`in literal ${word} (expecting '${word[i]}')`);
    }
    this.#at++;
    return value;
  }

  #skipSpace(): void {
    whitespace.lastIndex = this.#at;
    whitespace.test(this.#text);
    this.#at = whitespace.lastIndex;
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #fail(where: string): never {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) throw new JsonSyntaxError('unexpected end of JSON input');
    throw new JsonSyntaxError(`invalid character ${quoteCharacter(code)} ${where}`);
  }
}

/** As Go shows the character it stumbled over. */
function quoteCharacter(code: number): string {
  if (code === 0x27) return "'\\''";
  if (code === 0x22) return `'"'`;
  const named = { 10: '\\n', 13: '\\r', 9: '\\t', 8: '\\b', 12: '\\f', 11: '\\v', 7: '\\a', 92: '\\\\' };
  const short = (named as Record<number, string>)[code];
  if (short) return `'${short}'`;
  if (code < 0x20 || code === 0x7f) return `'\\x${code.toString(16).padStart(2, '0')}'`;
  return `'${String.fromCodePoint(code)}'`;
}
