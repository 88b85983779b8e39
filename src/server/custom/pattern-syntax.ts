/**
 * Regular expressions as schemas write them (RE2, the syntax of Go), read into a tree. Everything that RE2 has except
 * what only names captures; nothing that it lacks: no back references, no look-around. Fails with a PatternError.
 */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export type CharacterTest = (code: number) => boolean;
export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'wordEdge' | 'noWordEdge';

export type PatternNode =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly least: number; readonly most: number };

type Flags = { readonly ignoreCase: boolean; readonly multiline: boolean; readonly dotAll: boolean };

const LIMIT_REPEAT = 1000;
const LIMIT_DEPTH = 200;
const controls: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };
const posix: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t ',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

export function readPattern(pattern: string): PatternNode {
  const reader = new PatternReader(pattern);
  return reader.read();
}

export function isWordCode(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
}

class PatternReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): PatternNode {
    const node = this.#choice({ ignoreCase: false, multiline: false, dotAll: false });
    if (this.#at < this.#text.length) throw this.#fault('unexpected )');
    return node;
  }

  #choice(flags: Flags): PatternNode {
    if (++this.#depth > LIMIT_DEPTH) throw this.#fault('expression nests too deeply');
    const parts: PatternNode[] = [];
    let now = flags;
    do {
      const { node, flags: next } = this.#sequence(now);
      parts.push(node);
      now = next;
    } while (this.#take('|'));
    this.#depth--;
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts };
  }

  #sequence(given: Flags): { node: PatternNode; flags: Flags } {
    const parts: PatternNode[] = [];
    let flags = given;
    while (this.#at < this.#text.length && this.#peek() !== '|' && this.#peek() !== ')') {
      const setting = /^\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?\)/.exec(this.#text.slice(this.#at, this.#at + 20));
      if (setting) {
        this.#at += setting[0].length;
        flags = this.#withFlags(flags, setting[1]!, setting[2] ?? '');
        continue;
      }
      parts.push(this.#repeated(this.#atom(flags)));
    }
    return { node: parts.length === 1 ? parts[0]! : { kind: 'sequence', parts }, flags };
  }

  #repeated(given: PatternNode): PatternNode {
    let node = given;
    for (let isFirst = true; ; isFirst = false) {
      const match = /^(?:([*+?])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??/.exec(this.#text.slice(this.#at, this.#at + 14));
      if (!match) return node;
      if (!isFirst) throw this.#fault(`invalid nested repetition operator: \`${match[0]}\``);
      this.#at += match[0].length;
      const [, sign, from, comma, to] = match;
      const least = sign ? (sign === '+' ? 1 : 0) : Number(from);
      const most = sign ? (sign === '?' ? 1 : Infinity) : comma ? (to ? Number(to) : Infinity) : least;
      if (least > LIMIT_REPEAT || (most !== Infinity && (most > LIMIT_REPEAT || most < least)))
        throw this.#fault(`invalid repeat count: \`${match[0]}\``);
      node = { kind: 'repeat', part: node, least, most };
    }
  }

  #atom(flags: Flags): PatternNode {
    const sign = this.#next();
    switch (sign) {
      case '(':
        return this.#group(flags);
      case '[':
        return { kind: 'character', test: folded(this.#class(), flags) };
      case '.':
        return { kind: 'character', test: flags.dotAll ? () => true : (code) => code !== 10 };
      case '^':
        return { kind: 'assert', what: flags.multiline ? 'lineStart' : 'textStart' };
      case '$':
        return { kind: 'assert', what: flags.multiline ? 'lineEnd' : 'textEnd' };
      case '*':
      case '+':
      case '?':
        throw this.#fault(`missing argument to repetition operator: \`${sign}\``);
      case '\\':
        return this.#escaped(flags);
      default:
        return literal(sign.codePointAt(0)!, flags);
    }
  }

  #group(flags: Flags): PatternNode {
    let inner = flags;
    if (this.#take('?')) {
      const head = /^(?:P?<\w+>|([a-zA-Z]*)(?:-([a-zA-Z]+))?:)/.exec(this.#text.slice(this.#at));
      if (!head) throw this.#fault('invalid or unsupported Perl syntax: `(?`');
      this.#at += head[0].length;
      inner = this.#withFlags(flags, head[1] ?? '', head[2] ?? '');
    }
    const node = this.#choice(inner);
    if (!this.#take(')')) throw this.#fault('missing closing )');
    return node;
  }

  #withFlags(flags: Flags, on: string, off: string): Flags {
    if (/[^imsU]/.test(on + off)) throw this.#fault('invalid or unsupported Perl syntax: `(?`');
    const value = (sign: string, before: boolean) => (on.includes(sign) ? true : off.includes(sign) ? false : before);
    return {
      ignoreCase: value('i', flags.ignoreCase),
      multiline: value('m', flags.multiline),
      dotAll: value('s', flags.dotAll),
    };
  }

  #escaped(flags: Flags): PatternNode {
    const sign = this.#peek();
    const asserted: Readonly<Record<string, Assertion>> = {
      A: 'textStart',
      z: 'textEnd',
      b: 'wordEdge',
      B: 'noWordEdge',
    };
    const what = sign === undefined ? undefined : asserted[sign];
    if (what) {
      this.#at++;
      return { kind: 'assert', what };
    }
    if (sign === 'Q') {
      this.#at++;
      const end = this.#text.indexOf('\\E', this.#at);
      const quoted = this.#text.slice(this.#at, end < 0 ? undefined : end);
      this.#at = end < 0 ? this.#text.length : end + 2;
      return { kind: 'sequence', parts: [...quoted].map((one) => literal(one.codePointAt(0)!, flags)) };
    }
    const found = this.#escape();
    return typeof found === 'number' ? literal(found, flags) : { kind: 'character', test: folded(found, flags) };
  }

  /** After a backslash: one character, or a class of them. */
  #escape(): number | CharacterTest {
    const sign = this.#next();
    if (sign in controls) return controls[sign]!;
    if ('dDsSwW'.includes(sign)) return perlClass(sign);
    if (sign === 'p' || sign === 'P') return this.#property(sign === 'P');
    if (sign === 'x') {
      const hex = /^(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2}))/.exec(this.#text.slice(this.#at));
      if (!hex) throw this.#fault('invalid escape sequence: `\\x`');
      this.#at += hex[0].length;
      return Number.parseInt(hex[1] ?? hex[2]!, 16);
    }
    const octal = sign === '0' ? /^[0-7]{0,2}/.exec(this.#text.slice(this.#at))! : undefined;
    if (octal) {
      this.#at += octal[0].length;
      return Number.parseInt(octal[0] || '0', 8);
    }
    if (/[A-Za-z0-9]/.test(sign)) throw this.#fault(`invalid escape sequence: \`\\${sign}\``);
    return sign.codePointAt(0)!;
  }

  #property(isNegated: boolean): CharacterTest {
    const named = /^(?:\{(\^?)(\w+)\}|([A-Z]))/.exec(this.#text.slice(this.#at));
    if (!named) throw this.#fault('invalid character class range: `\\p`');
    this.#at += named[0].length;
    const name = named[2] ?? named[3]!;
    const isOutside = isNegated !== (named[1] === '^');
    for (const form of [name, `Script=${name}`]) {
      try {
        const pattern = new RegExp(`^\\p{${form}}$`, 'u');
        return (code) => pattern.test(String.fromCodePoint(code)) !== isOutside;
      } catch {
        // Not a category: perhaps a script.
      }
    }
    throw this.#fault(`invalid character class range: \`\\p{${name}}\``);
  }

  #class(): CharacterTest {
    const isNegated = this.#take('^');
    const tests: CharacterTest[] = [];
    for (let isFirst = true; ; isFirst = false) {
      const peeked = this.#peek();
      if (peeked === undefined) throw this.#fault('missing closing ]');
      if (peeked === ']' && !isFirst) break;
      const named = /^\[:(\^?)(\w+):\]/.exec(this.#text.slice(this.#at, this.#at + 16));
      if (named) {
        this.#at += named[0].length;
        tests.push(this.#posix(named[2]!, named[1] === '^'));
        continue;
      }
      const low = this.#member();
      if (typeof low !== 'number') tests.push(low);
      else if (this.#peek() === '-' && this.#text[this.#at + 1] !== ']' && this.#at + 1 < this.#text.length) {
        this.#at++;
        const high = this.#member();
        if (typeof high !== 'number' || high < low) throw this.#fault('invalid character class range');
        tests.push((code) => code >= low && code <= high);
      } else tests.push((code) => code === low);
    }
    this.#at++;
    return (code) => tests.some((test) => test(code)) !== isNegated;
  }

  #member(): number | CharacterTest {
    const sign = this.#next();
    return sign === '\\' ? this.#escape() : sign.codePointAt(0)!;
  }

  #posix(name: string, isNegated: boolean): CharacterTest {
    const members = Object.hasOwn(posix, name) ? posix[name] : undefined;
    if (members === undefined) throw this.#fault(`invalid character class range: \`[:${name}:]\``);
    const test = new PatternReader(`${members}]`).#class();
    return (code) => test(code) !== isNegated;
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
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

  #fault(why: string): PatternError {
    return new PatternError(`error parsing regexp: ${why}`);
  }
}

function literal(code: number, flags: Flags): PatternNode {
  return { kind: 'character', test: folded((other) => other === code, flags) };
}

function folded(test: CharacterTest, { ignoreCase }: Flags): CharacterTest {
  if (!ignoreCase) return test;
  return (code) => {
    const sign = String.fromCodePoint(code);
    return test(code) || test(sign.toLowerCase().codePointAt(0)!) || test(sign.toUpperCase().codePointAt(0)!);
  };
}

function perlClass(sign: string): CharacterTest {
  const inside: CharacterTest =
    sign === 'd' || sign === 'D'
      ? (code) => code >= 48 && code <= 57
      : sign === 'w' || sign === 'W'
        ? isWordCode
        : (code) => code === 9 || code === 10 || code === 12 || code === 13 || code === 32;
  return sign >= 'a' ? inside : (code) => !inside(code);
}
