/**
 * Regular expressions as schemas write them (RE2, the syntax of Go), read into a tree. Everything that RE2 has except
 * what only names captures; nothing that it lacks: no back references, no look-around.
 *
 * Reading takes time in proportion to the text. Nesting, counts, and counts inside counts have the limits of Go; what
 * the pattern comes to with its counts written out is limited too. Fails with a PatternError in Go's words.
 */
import { anyButNewLine, perlClasses, posixClasses } from './character-classes.ts';
import {
  allBut,
  type CharacterSet,
  everyCharacter,
  LAST_CODE,
  setOf,
  unicodeSet,
  withAllCases,
} from './character-set.ts';

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordEdge' | 'noWordEdge';

/**
 * `copies`: how often the counts below, multiplied, repeat their innermost part. `states`: how many states it takes with
 * its counts written out.
 */
export type PatternNode = { readonly copies: number; readonly states: number } & (
  | { readonly kind: 'character'; readonly set: CharacterSet }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternNode[] }
  | {
      readonly kind: 'repeat';
      readonly part: PatternNode;
      readonly least: number;
      readonly most: number;
      readonly isLazy: boolean;
    }
);

type Flags = {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  /** `*` takes as little as it can, `*?` as much. */
  readonly isUngreedy: boolean;
};

/** Go's: of one count and of counts inside each other, and of the depth of groups. */
const LIMIT_REPEAT = 1000;
const LIMIT_DEPTH = 1000;
const LIMIT_CHARACTERS = 10_000;
/** Of categories and scripts in one pattern: the first use of each takes a few milliseconds. */
const LIMIT_UNICODE_SETS = 20;
/** Of the states of one pattern. */
export const LIMIT_STATES = 20_000;
/** Of the ends of ranges in all classes of one pattern together. */
const LIMIT_RANGE_ENDS = 100_000;

const noFlags: Flags = { ignoreCase: false, multiline: false, dotAll: false, isUngreedy: false };
const controls: ReadonlyMap<string, number> = new Map(Object.entries({ a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 }));
const assertions: ReadonlyMap<string, Assertion> = new Map<string, Assertion>([
  ['A', 'textStart'],
  ['z', 'textEnd'],
  ['b', 'wordEdge'],
  ['B', 'noWordEdge'],
]);

export function readPattern(pattern: string): PatternNode {
  if (pattern.length > LIMIT_CHARACTERS) throw new PatternError('error parsing regexp: expression too large');
  return new PatternReader(pattern).read();
}

class PatternReader {
  readonly #text: string;
  readonly #unicodeNames = new Set<string>();
  readonly #unicodeSets = new Map<string, CharacterSet>();
  #at = 0;
  #depth = 0;
  #rangeEnds = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): PatternNode {
    const node = this.#choice(noFlags);
    if (this.#at < this.#text.length) throw this.#fault('unexpected )', this.#text);
    return node;
  }

  #choice(flags: Flags): PatternNode {
    if (++this.#depth > LIMIT_DEPTH) throw this.#fault('expression nests too deeply', this.#text);
    const parts: PatternNode[] = [];
    let now = flags;
    do {
      const { node, flags: next } = this.#sequence(now);
      parts.push(node);
      now = next;
    } while (this.#take('|'));
    this.#depth--;
    return parts.length === 1 ? parts[0]! : this.#joined('choice', parts, parts.length - 1);
  }

  #joined(kind: 'choice' | 'sequence', parts: readonly PatternNode[], forks = 0): PatternNode {
    let [copies, states] = [1, forks];
    for (const part of parts) {
      copies = Math.max(copies, part.copies);
      states += part.states;
    }
    return this.#limited({ kind, parts, copies, states });
  }

  #limited(node: PatternNode): PatternNode {
    if (node.states > LIMIT_STATES) throw this.#tooLarge();
    return node;
  }

  #sequence(given: Flags): { node: PatternNode; flags: Flags } {
    const parts: PatternNode[] = [];
    let flags = given;
    while (this.#at < this.#text.length && this.#peek() !== '|' && this.#peek() !== ')') {
      const setting = /^\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/.exec(this.#ahead(20));
      if (setting) {
        this.#at += setting[0].length;
        flags = this.#withFlags(flags, setting[1]!, setting[2] ?? '');
        continue;
      }
      parts.push(this.#repeated(this.#atom(flags), flags));
    }
    return { node: parts.length === 1 ? parts[0]! : this.#joined('sequence', parts), flags };
  }

  #repeated(part: PatternNode, { isUngreedy }: Flags): PatternNode {
    const match = this.#repeat();
    if (!match) return part;
    const [whole, sign, from, comma, to, lazy] = match;
    this.#at += whole.length;
    const again = this.#repeat();
    if (again) throw this.#fault('invalid nested repetition operator', whole + again[0]);
    const least = sign ? (sign === '+' ? 1 : 0) : Number(from);
    const most = sign ? (sign === '?' ? 1 : Infinity) : comma ? (to ? Number(to) : Infinity) : least;
    const times = most === Infinity ? Math.max(least, 1) : most;
    const copies = most === 0 ? 1 : times * part.copies;
    if (copies > LIMIT_REPEAT || least > LIMIT_REPEAT || most < least) throw this.#fault('invalid repeat count', whole);
    const states = least * part.states + (most === Infinity ? 1 : most - least) * (part.states + 1);
    return this.#limited({ kind: 'repeat', part, least, most, copies, states, isLazy: (lazy === '?') !== isUngreedy });
  }

  #repeat(): RegExpExecArray | null {
    return /^(?:([*+?])|\{(\d{1,5})(?:(,)(\d{0,5}))?\})(\??)/.exec(this.#ahead(16));
  }

  #atom(flags: Flags): PatternNode {
    const sign = this.#next();
    switch (sign) {
      case '(':
        return this.#group(flags);
      case '[':
        return character(this.#class(flags));
      case '.':
        return character(flags.dotAll ? everyCharacter : anyButNewLine);
      case '^':
        return asserted(flags.multiline ? 'lineStart' : 'textStart');
      case '$':
        return asserted(flags.multiline ? 'lineEnd' : 'textEnd');
      case '*':
      case '+':
      case '?':
        throw this.#fault('missing argument to repetition operator', sign);
      case '\\':
        return this.#escaped(flags);
      default:
        return literal(sign.codePointAt(0)!, flags);
    }
  }

  #group(flags: Flags): PatternNode {
    let inner = flags;
    if (this.#take('?')) {
      const head = /^(?:P?<\w+>|([a-zA-Z]{0,20})(?:-([a-zA-Z]{1,20}))?:)/.exec(this.#ahead(1000));
      if (!head) throw this.#fault('invalid or unsupported Perl syntax', `(?${this.#ahead(1)}`);
      this.#at += head[0].length;
      inner = this.#withFlags(flags, head[1] ?? '', head[2] ?? '');
    }
    const node = this.#choice(inner);
    if (!this.#take(')')) throw this.#fault('missing closing )', this.#text);
    return node;
  }

  #withFlags(flags: Flags, on: string, off: string): Flags {
    if (/[^imsU]/.test(on + off)) throw this.#fault('invalid or unsupported Perl syntax', `(?${on}`);
    const value = (sign: string, before: boolean) => (on.includes(sign) ? true : off.includes(sign) ? false : before);
    return {
      ignoreCase: value('i', flags.ignoreCase),
      multiline: value('m', flags.multiline),
      dotAll: value('s', flags.dotAll),
      isUngreedy: value('U', flags.isUngreedy),
    };
  }

  #escaped(flags: Flags): PatternNode {
    const sign = this.#peek();
    const what = sign === undefined ? undefined : assertions.get(sign);
    if (what) {
      this.#at++;
      return asserted(what);
    }
    if (sign === 'Q') {
      this.#at++;
      const end = this.#text.indexOf('\\E', this.#at);
      const quoted = this.#text.slice(this.#at, end < 0 ? undefined : end);
      this.#at = end < 0 ? this.#text.length : end + 2;
      const parts = [...quoted].map((one) => literal(one.codePointAt(0)!, flags));
      return this.#joined('sequence', parts);
    }
    const found = this.#escape(flags);
    return typeof found === 'number' ? literal(found, flags) : character(found);
  }

  /** After a backslash: one character, or a class of them. */
  #escape(flags: Flags): number | CharacterSet {
    const sign = this.#next();
    const control = controls.get(sign);
    if (control !== undefined) return control;
    const inside = perlClasses.get(sign.toLowerCase());
    if (inside) return sign >= 'a' ? inside : allBut(inside);
    if (sign === 'p' || sign === 'P') return this.#property(sign, flags);
    if (sign === 'x') {
      const hex = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(this.#ahead(8));
      const code = hex ? Number.parseInt(hex[1] ?? hex[2]!, 16) : Infinity;
      if (!hex || code > LAST_CODE) throw this.#fault('invalid escape sequence', '\\x');
      this.#at += hex[0].length;
      return code;
    }
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(sign + this.#ahead(2));
    if (octal) {
      this.#at += octal[0].length - 1;
      return Number.parseInt(octal[0], 8);
    }
    if (/[A-Za-z0-9]/.test(sign)) throw this.#fault('invalid escape sequence', `\\${sign}`);
    return sign.codePointAt(0)!;
  }

  #property(sign: string, { ignoreCase }: Flags): CharacterSet {
    const named = /^(?:\{(\^?)(\w{1,40})\}|([A-Z]))/.exec(this.#ahead(44));
    if (!named) throw this.#fault('invalid character class range', `\\${sign}`);
    this.#at += named[0].length;
    const written = `\\${sign}${named[0]}`;
    const id = ignoreCase ? `${written} in all cases` : written;
    let set = this.#unicodeSets.get(id);
    if (!set) {
      const name = named[2] ?? named[3]!;
      this.#unicodeNames.add(name);
      if (this.#unicodeNames.size > LIMIT_UNICODE_SETS) throw this.#tooLarge();
      const found = unicodeSet(name);
      if (!found) throw this.#fault('invalid character class range', written);
      const whole = ignoreCase ? withAllCases(found) : found;
      set = (sign === 'P') !== (named[1] === '^') ? allBut(whole) : whole;
      this.#unicodeSets.set(id, set);
    }
    return set;
  }

  /** Letters are taken in all their cases before the class is turned round. */
  #class(flags: Flags): CharacterSet {
    const start = this.#at - 1;
    const isNegated = this.#take('^');
    const ranges: number[] = [];
    const named = new Set<CharacterSet>();
    for (let isFirst = true; ; isFirst = false) {
      const peeked = this.#peek();
      if (peeked === undefined) throw this.#fault('missing closing ]', this.#text.slice(start));
      if (peeked === ']' && !isFirst) break;
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.#ahead(16));
      if (posix) {
        this.#at += posix[0].length;
        named.add(this.#posix(posix[0], posix[2]!, posix[1] === '^'));
        continue;
      }
      const from = this.#at;
      const low = this.#member(flags);
      if (typeof low !== 'number') named.add(low);
      else if (this.#peek() === '-' && this.#text[this.#at + 1] !== ']' && this.#at + 1 < this.#text.length) {
        this.#at++;
        const high = this.#member(flags);
        if (typeof high !== 'number' || high < low)
          throw this.#fault('invalid character class range', this.#text.slice(from, this.#at));
        ranges.push(low, high);
      } else ranges.push(low, low);
    }
    this.#at++;
    for (const set of named) for (const end of set) ranges.push(end);
    this.#rangeEnds += ranges.length;
    if (this.#rangeEnds > LIMIT_RANGE_ENDS) throw this.#tooLarge();
    const set = flags.ignoreCase ? withAllCases(setOf(ranges)) : setOf(ranges);
    return isNegated ? allBut(set) : set;
  }

  #member(flags: Flags): number | CharacterSet {
    const sign = this.#next();
    return sign === '\\' ? this.#escape(flags) : sign.codePointAt(0)!;
  }

  #posix(whole: string, name: string, isNegated: boolean): CharacterSet {
    const set = posixClasses.get(name);
    if (!set) throw this.#fault('invalid character class range', whole);
    return isNegated ? allBut(set) : set;
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #ahead(characters: number): string {
    return this.#text.slice(this.#at, this.#at + characters);
  }

  /** The next character, whole even where it takes two places. */
  #next(): string {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) throw this.#fault('trailing backslash at end of expression');
    const sign = String.fromCodePoint(code);
    this.#at += sign.length;
    return sign;
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #tooLarge(): PatternError {
    return this.#fault('expression too large', this.#text);
  }

  #fault(why: string, where?: string): PatternError {
    return new PatternError(`error parsing regexp: ${why}${where === undefined ? '' : `: \`${where}\``}`);
  }
}

function character(set: CharacterSet): PatternNode {
  return { kind: 'character', set, copies: 1, states: 1 };
}

function asserted(what: Assertion): PatternNode {
  return { kind: 'assert', what, copies: 1, states: 1 };
}

function literal(code: number, { ignoreCase }: Flags): PatternNode {
  const set: CharacterSet = [code, code];
  return character(ignoreCase ? withAllCases(set) : set);
}
