/**
 * The text of an expression cut into tokens, in one pass. What is no token is a fault at its place, up to the character
 * that could not be: the others are cut as if it were not there. Numbers and texts come with their values.
 */

import { Uint, type Value } from '../values/values.ts';
import { ExpressionFault } from './syntax.ts';

export type Token = {
  /** `name`, `literal`, `end`, or the sign itself. */
  readonly kind: string;
  readonly text: string;
  readonly value: Value;
  readonly at: number;
};

const SIGNS = ['==', '!=', '<=', '>=', '&&', '||', ...'+-*/%<>!()[]{}.,:?'];
const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }),
);
const words: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
/** Told of one expression. */
export const MOST_FAULTS = 30;
/** Signs that are none by themselves: whatever else comes next is part of the fault. */
const HALVES: ReadonlySet<string> = new Set('=&|');
const LARGEST_INT = 2n ** 63n - 1n;
const LARGEST_UINT = 2n ** 64n - 1n;

export type ReadTokens = { readonly tokens: readonly Token[]; readonly faults: ExpressionFault[] };

export function readTokens(text: string): ReadTokens {
  const tokens: Token[] = [];
  const faults: ExpressionFault[] = [];
  const lexer = new Lexer(text);
  for (;;) {
    const token = lexer.next();
    if (token instanceof ExpressionFault) faults.push(token);
    else tokens.push(token);
    // Whoever reads on after so many has nothing new to learn.
    if (faults.length === MOST_FAULTS) tokens.push({ kind: 'end', text: '<EOF>', value: undefined, at: text.length });
    if (tokens.at(-1)?.kind === 'end') return { tokens, faults };
  }
}

class Lexer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Token | ExpressionFault {
    this.#take(/(?:[ \t\r\n\f]|\/\/[^\n]*(?:\n|$))*/y);
    const at = this.#at;
    if (at === this.#text.length) return { kind: 'end', text: '<EOF>', value: undefined, at };
    const number = this.#number(at);
    if (number) return number;
    const prefix = this.#take(/(?:[rR]?[bB]|[bB]?[rR])?(?=["'])/y)?.[0];
    if (prefix !== undefined) return this.#quoted(at, prefix.toLowerCase());
    const name = this.#take(/[A-Za-z_][A-Za-z0-9_]*/y)?.[0];
    if (name !== undefined) {
      if (words.has(name)) return { kind: 'literal', text: name, value: words.get(name), at };
      return { kind: name === 'in' ? 'in' : 'name', text: name, value: undefined, at };
    }
    const sign = SIGNS.find((one) => this.#text.startsWith(one, at));
    if (sign === undefined) return this.#noToken(at, HALVES.has(this.#text[at]!) ? at + 1 : at);
    this.#at += sign.length;
    return { kind: sign, text: sign, value: undefined, at };
  }

  /** Nothing that begins at `at` goes on with the character at `end`; what follows it begins anew. */
  #noToken(at: number, end: number): ExpressionFault {
    const last = this.#text.codePointAt(end);
    this.#at = Math.min(end + (last !== undefined && last > 0xffff ? 2 : 1), this.#text.length);
    const shown = this.#text
      .slice(at, this.#at)
      .replaceAll('\n', '\\n')
      .replaceAll('\r', '\\r')
      .replaceAll('\t', '\\t');
    return new ExpressionFault(at, `Syntax error: token recognition error at: '${shown}'`);
  }

  #number(at: number): Token | undefined {
    const real = this.#take(/\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y)?.[0];
    if (real !== undefined) return { kind: 'literal', text: real, value: Number(real), at };
    const whole = this.#take(/(0x[0-9a-fA-F]+|\d+)([uU]?)/y);
    if (!whole) return undefined;
    // A longer one does not fit anyway, and would take long to read.
    const value = whole[1]!.length > 40 ? LARGEST_UINT + 1n : BigInt(whole[1]!);
    const isUnsigned = whole[2] !== '';
    // The least of all ints is written as a minus before one more than the largest.
    if (value > (isUnsigned ? LARGEST_UINT : LARGEST_INT + 1n))
      throw new ExpressionFault(at, `invalid ${isUnsigned ? 'uint' : 'int'} literal`);
    return { kind: 'literal', text: whole[0], value: isUnsigned ? new Uint(value) : value, at };
  }

  #quoted(at: number, prefix: string): Token | ExpressionFault {
    const sign = this.#text[this.#at]!;
    const fence = this.#text.startsWith(sign.repeat(3), this.#at) ? sign.repeat(3) : sign;
    const isRaw = prefix.includes('r');
    const start = this.#at + fence.length;
    let end = start;
    while (!this.#text.startsWith(fence, end)) {
      if (end >= this.#text.length || (fence.length === 1 && /[\r\n]/.test(this.#text[end]!)))
        return this.#noToken(at, end);
      if (this.#text[end] === '\\' && !isRaw && !isEscape(this.#text, end)) return this.#noToken(at, end + 1);
      end += this.#text[end] === '\\' && !isRaw ? 2 : 1;
    }
    this.#at = end + fence.length;
    const inner = this.#text.slice(start, end);
    const value = prefix.includes('b') ? bytesOf(inner, isRaw, at) : isRaw ? inner : withoutEscapes(inner, at);
    return { kind: 'literal', text: this.#text.slice(at, this.#at), value, at };
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match) this.#at += match[0].length;
    return match;
  }
}

/** Whether the backslash at `at` begins an escape. */
function isEscape(text: string, at: number): boolean {
  escapeStart.lastIndex = at;
  return escapeStart.test(text);
}

const escapeStart = /\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2}|[abfnrtv"'`\\?])/y;
const escapePattern =
  /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xX]([0-9a-fA-F]{2})|([0-3][0-7]{2})|([abfnrtv"'`\\?])|)/g;

function withoutEscapes(text: string, at: number): string {
  return text.replace(escapePattern, (whole, short, long, hex, octal, sign) => {
    const code = Number.parseInt(short ?? long ?? hex ?? 'x', 16);
    const point = octal === undefined ? code : Number.parseInt(octal, 8);
    if (sign !== undefined) return escapes.get(sign) ?? sign;
    if (whole === '\\' || Number.isNaN(point) || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      throw new ExpressionFault(at, 'Syntax error: invalid escape sequence');
    return String.fromCodePoint(point);
  });
}

/** In bytes `\x` and octals are bytes, everything else is UTF-8. */
function bytesOf(text: string, isRaw: boolean, at: number): Uint8Array {
  if (isRaw) return new TextEncoder().encode(text);
  const bytes: number[] = [];
  let from = 0;
  const add = (plain: string) => {
    for (const byte of new TextEncoder().encode(plain)) bytes.push(byte);
  };
  for (const match of text.matchAll(escapePattern)) {
    add(text.slice(from, match.index));
    const [whole, short, long, hex, octal] = match;
    if (short !== undefined || long !== undefined)
      throw new ExpressionFault(at, 'Syntax error: invalid escape sequence in bytes');
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else add(withoutEscapes(whole, at));
    from = match.index + whole.length;
  }
  add(text.slice(from));
  return Uint8Array.from(bytes);
}
