/**
 * A few members of a JSON text, without parsing the rest of it: what selectors ask of an object is a handful of short
 * values in kilobytes that nobody looks at.
 *
 * For text that was written here: compact, and known to be JSON. What does not look so, as far as it is read, is not read at
 * all (undefined), and must be parsed. Reading ends where the last of what is wanted was found: labels stand at the
 * beginning. Linear, and no byte is looked at twice.
 */
import type { JsonObject, JsonValue } from '../../../api/json.ts';
import { setKey } from './json-objects.ts';
import { parseJson } from './json-reader.ts';

/** Members of one object: of each what is wanted of it, or all of it. */
export type Wanted = readonly Wish[];
/** `bytes`: the name as it is written. */
type Wish = { readonly name: string; readonly bytes: Buffer; readonly within: Wanted | undefined };

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const BLANK = 0x20;
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Of each byte outside of texts, what it is to whoever looks for an end: most are nothing. */
const [IS_QUOTE, IS_OPEN, IS_CLOSE] = [1, 2, 3];
const structure = new Uint8Array(256);
structure[QUOTE] = IS_QUOTE;
for (const code of [OPEN, OPEN_LIST]) structure[code] = IS_OPEN;
for (const code of [CLOSE, CLOSE_LIST]) structure[code] = IS_CLOSE;

/** As `wantedOf(['spec.nodeName', 'metadata.labels'])` says; a path below one that is wanted whole is in it. */
export function wantedOf(paths: readonly string[]): Wanted {
  return [...new Set(paths.map((path) => path.split('.', 1)[0]!))].map((name) => {
    const isWhole = paths.includes(name);
    const below = paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1));
    return { name, bytes: Buffer.from(name), within: isWhole ? undefined : wantedOf(below) };
  });
}

/** What is wanted of the object that begins at `from`; undefined where the text is not as it would be written here. */
export function pickFields(bytes: Buffer, from: number, wanted: Wanted): JsonObject | undefined {
  const picker = new Picker(bytes, from);
  const found = picker.members(wanted, true);
  return picker.isLost ? undefined : found;
}

/** Where the value that begins at `from` ends; undefined where the text is not as it would be written here. */
export function endOfValue(bytes: Buffer, from: number): number | undefined {
  return new Picker(bytes, from).end();
}

class Picker {
  isLost = false;
  /** All that was wanted was found: nobody asks for the end of what is around it. */
  #isDone = false;
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  end(): number | undefined {
    this.#skip();
    return this.isLost ? undefined : this.#at;
  }

  /** `isLast`: nothing is wanted of what comes after this object. */
  members(wanted: Wanted, isLast: boolean): JsonObject {
    const found: JsonObject = {};
    let left = wanted.length;
    if (!this.#take(OPEN)) return found;
    if (this.#bytes[this.#at] === CLOSE) {
      this.#at++;
      return found;
    }
    do {
      const begin = this.#at + 1;
      this.#skipText();
      if (this.isLost) return found;
      const wish = this.#wishFor(wanted, begin, this.#at - 1);
      if (!this.#take(COLON)) return found;
      if (wish === undefined) this.#skip();
      else {
        left--;
        setKey(found, wish.name, this.#value(wish.within, isLast && left === 0));
      }
      if (this.isLost || this.#isDone) return found;
      if (left === 0) {
        if (isLast) this.#isDone = true;
        else this.#skipNested(1); // to the end of this object
        return found;
      }
    } while (this.#bytes[this.#at] === COMMA && ++this.#at > 0);
    this.#take(CLOSE);
    return found;
  }

  /** Whose name lies there. */
  #wishFor(wanted: Wanted, begin: number, end: number): Wish | undefined {
    const bytes = this.#bytes;
    const length = end - begin;
    for (let i = 0; i < wanted.length; i++) {
      const wish = wanted[i]!;
      if (wish.bytes.length !== length) continue;
      let same = 0;
      while (same < length && bytes[begin + same] === wish.bytes[same]) same++;
      if (same === length) return wish;
    }
    return undefined;
  }

  #value(within: Wanted | undefined, isLast: boolean): JsonValue {
    if (within && this.#bytes[this.#at] === OPEN) return this.members(within, isLast);
    const begin = this.#at;
    this.#skip();
    if (this.isLost || within) return null;
    const [value] = parseJson(`[${this.#bytes.toString('utf8', begin, this.#at)}]`) as [JsonValue];
    return value;
  }

  #skip(): void {
    const first = this.#bytes[this.#at];
    if (first === QUOTE) this.#skipText();
    else if (first === OPEN || first === OPEN_LIST) this.#skipNested();
    else this.#skipWord();
  }

  #skipWord(): void {
    const bytes = this.#bytes;
    const begin = this.#at;
    while (this.#at < bytes.length && !isEnd(bytes[this.#at]!)) this.#at++;
    if (this.#at === begin || this.#at === bytes.length || bytes[begin]! <= BLANK) this.isLost = true;
  }

  /** `depth`: how many objects and lists are open. */
  #skipNested(depth = 0): void {
    const bytes = this.#bytes;
    const { length } = bytes;
    for (let at = this.#at; at < length; at++) {
      const kind = structure[bytes[at]!]!;
      if (kind === 0) continue;
      if (kind === IS_QUOTE) at = textEnd(bytes, at);
      else if (kind === IS_OPEN) depth++;
      else if (--depth === 0) {
        this.#at = at + 1;
        return;
      }
    }
    this.isLost = true;
  }

  #skipText(): void {
    const end = this.#bytes[this.#at] === QUOTE ? textEnd(this.#bytes, this.#at) : this.#bytes.length;
    if (end >= this.#bytes.length) this.isLost = true;
    else this.#at = end + 1;
  }

  #take(code: number): boolean {
    if (!this.isLost && this.#bytes[this.#at] === code) {
      this.#at++;
      return true;
    }
    this.isLost = true;
    return false;
  }
}

/** Of a number or a word. */
function isEnd(code: number): boolean {
  return code === COMMA || code === CLOSE || code === CLOSE_LIST;
}

/** Where the quotes that open at `from` close; the end of everything where they do not. */
function textEnd(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
