/**
 * The body of a list, decoded as it comes: so many items at a time as make a short turn of the event loop, whether it is a
 * page or all there is. Beside what is decoded, only the bytes of a few items are held.
 *
 * What is always true: the result is what JSON.parse makes of the whole, or its error; managed fields are put off. Items are cut where one ends and
 * the next begins in the way the first began; where that is no end after all (an item may hold others), JSON.parse says
 * so, and they are walked through one by one. A body in which the items cannot be found at once is decoded at its end.
 */
import { endOfValue, ODD } from '../lazy/json-text.ts';
import { parseItems } from '../lazy/managed-fields.ts';

/** About a millisecond of decoding. */
const PIECE_BYTES = 128 * 1024;
const ITEMS = '"items":[';
const COMMA = 44;
const OPEN = 123;
const CLOSE_LIST = 93;
/** How items of one list begin, all of them alike; else only the first key is taken to be the same. */
const COMMON_HEAD = /^\{(?:"(?:kind|apiVersion)":"[^"\\]*",){0,2}"metadata":/;
const FIRST_KEY = /^\{"[^"\\]*":/;

export class ListBody {
  #parts: Buffer[] = [];
  #bytes = 0;
  #tryAt = PIECE_BYTES;
  #place: 'head' | 'items' | 'tail' | 'unknown' = 'head';
  /** Up to the items. */
  #head = '';
  readonly #items: unknown[] = [];
  #between = '';

  /** Throws what JSON.parse throws. */
  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#tryAt) return;
    if (this.#place === 'head') this.#begin();
    if (this.#place === 'items') this.#take(this.#all());
    this.#tryAt = Math.max(PIECE_BYTES, 2 * this.#bytes); // one that is longer than a piece is not tried with every chunk
  }

  finish(): unknown {
    if (this.#place === 'items') this.#take(this.#all());
    if (this.#place === 'items') this.#walk(this.#all());
    if (this.#place === 'head' || this.#place === 'unknown') return JSON.parse(this.#all().toString('utf8'));
    const list = JSON.parse(this.#head + this.#all().toString('utf8')) as { items: unknown[] };
    list.items = this.#items;
    return list;
  }

  #all(): Buffer {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [bytes];
    return bytes;
  }

  #keep(rest: Buffer): void {
    this.#parts = [rest];
    this.#bytes = rest.length;
  }

  #begin(): void {
    const bytes = this.#all();
    const at = bytes.indexOf(ITEMS) + ITEMS.length;
    this.#place = 'unknown';
    if (at < ITEMS.length || bytes[at] !== OPEN) return;
    const first = bytes.toString('latin1', at, at + 512);
    const alike = COMMON_HEAD.exec(first) ?? FIRST_KEY.exec(first);
    this.#head = bytes.toString('utf8', 0, at);
    if (!alike || !isListHead(this.#head)) return;
    this.#between = `},${alike[0]}`;
    this.#place = 'items';
    this.#keep(bytes.subarray(at));
  }

  #take(bytes: Buffer): void {
    const end = bytes.lastIndexOf(this.#between, undefined, 'latin1');
    if (end < 0) return;
    try {
      for (const item of parseItems(bytes.subarray(0, end + 1))) this.#items.push(item);
      this.#keep(bytes.subarray(end + 2));
    } catch {
      this.#walk(bytes);
    }
  }

  /** Item by item, as far as they are there with what follows them. */
  #walk(bytes: Buffer): void {
    const text = bytes.toString('latin1'); // a byte a character: what is looked for is ASCII
    let at = 0;
    for (let end = endOfValue(text, at); end !== ODD && end < text.length; end = endOfValue(text, at)) {
      const next = bytes[end];
      if (next !== COMMA && next !== CLOSE_LIST)
        throw new SyntaxError(`Unexpected token after item ${this.#items.length}`);
      this.#items.push(JSON.parse(bytes.toString('utf8', at, end)));
      at = next === COMMA ? end + 1 : end;
      if (next === COMMA) continue;
      this.#place = 'tail';
      break;
    }
    this.#keep(bytes.subarray(at));
  }
}

/** Whether the items that begin after it are those of the list, and not of something in it. */
function isListHead(head: string): boolean {
  try {
    return Array.isArray((JSON.parse(`${head}]}`) as { items?: unknown }).items);
  } catch {
    return false;
  }
}
