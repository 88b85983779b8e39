/** What can be done with texts. Each is charged for what it goes through and for what it makes, before it does. */
import { compilePattern, PatternError } from '../../../schemas/patterns/pattern.ts';
import { type Budget, traversal } from '../values/budget.ts';
import { CelError } from '../values/values.ts';
import { formatText } from './format-text.ts';
import type { Functions } from './overloads.ts';
import {
  characterAt,
  countCharacters,
  hasPairs,
  indexOfText,
  lastIndexOfText,
  placeOf,
  splitText,
} from './text-search.ts';

const length = (text: string) => traversal(text.length);
/** kube-apiserver multiplies: its search may take the product of both lengths. */
const product = (text: string, part: string) => Math.max(1, length(text) * length(part));
const patternCost = (text: string, pattern: string) => traversal(1 + text.length) * Math.ceil(pattern.length / 4);
/** Counting goes ten times as fast as anything else. */
const counting = (text: string) => 1 + traversal(text.length) / 10;

export function declareTexts(functions: Functions): void {
  functions
    .declare('size(string): int', counting, sizeOf)
    .declare('string.size(): int', counting, sizeOf)
    .declare('size(bytes): int', 1, (bytes: Uint8Array) => BigInt(bytes.length))
    .declare('bytes.size(): int', 1, (bytes: Uint8Array) => BigInt(bytes.length))
    .declare('string.contains(string): bool', product, (text: string, part: string) => indexOfText(text, part) >= 0)
    .declare('string.startsWith(string): bool', length, (text: string, part: string) => text.startsWith(part))
    .declare('string.endsWith(string): bool', length, (text: string, part: string) => text.endsWith(part))
    .declare('string.lowerAscii(): string', length, (text: string, budget: Budget) =>
      inOneCase(text, /[A-Z]+/g, (run) => run.toLowerCase(), budget),
    )
    .declare('string.upperAscii(): string', length, (text: string, budget: Budget) =>
      inOneCase(text, /[a-z]+/g, (run) => run.toUpperCase(), budget),
    )
    .declare('string.trim(): string', length, (text: string) => text.trim())
    .declare('string.reverse(): string', turning, (text: string) => [...text].reverse().join(''))
    .declare('string.charAt(int): string', length, charAt)
    .declare('string.substring(int): string', length, (text: string, from: bigint) => text.slice(place(text, from)))
    .declare('string.substring(int, int): string', length, substring)
    .declare('strings::quote(string): string', turning, quoted)
    .declare('string.format(list<A>): string', undefined, formatText);
  declareSearches(functions);
  declarePatterns(functions);
}

/** As a literal of the language that means it. */
function quoted(text: string): string {
  return `"${text.replace(/[\x07\b\f\n\r\t\v\\"]/g, (sign) => escapes[sign]!)}"`;
}

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** Where characters take two places, each has to be looked at. */
function sizeOf(text: string, budget: Budget): bigint {
  if (hasPairs(text)) budget.charge(length(text));
  return BigInt(countCharacters(text));
}

function twice(text: string): number {
  return 2 * length(text);
}

/** Character by character, which takes ten times as long. */
function turning(text: string): number {
  return 1 + text.length;
}

function declareSearches(functions: Functions): void {
  const both = (text: string, part: string) => 2 * (length(text) + length(part));
  functions
    .declare('string.indexOf(string): int', both, (text: string, part: string) =>
      characterAt(text, indexOfText(text, part)),
    )
    .declare('string.indexOf(string, int): int', both, (text: string, part: string, from: bigint) =>
      characterAt(text, indexOfText(text, part, place(text, from))),
    )
    .declare('string.lastIndexOf(string): int', both, (text: string, part: string) =>
      characterAt(text, lastIndexOfText(text, part)),
    )
    .declare('string.lastIndexOf(string, int): int', both, (text: string, part: string, from: bigint) =>
      characterAt(text, lastIndexOfText(text, part, place(text, from))),
    )
    .declare('string.split(string): list<string>', twice, (text: string, separator: string, budget: Budget) =>
      split(text, separator, -1n, budget),
    )
    .declare('string.split(string, int): list<string>', twice, split)
    .declare(
      'string.replace(string, string): string',
      twice,
      (text: string, old: string, next: string, budget: Budget) => replace(text, old, next, -1n, budget),
    )
    .declare('string.replace(string, string, int): string', twice, replace)
    .declare('list<string>.join(): string', undefined, (list: string[], budget: Budget) => join(list, '', budget))
    .declare('list<string>.join(string): string', undefined, join);
}

function declarePatterns(functions: Functions): void {
  functions
    .declare('string.matches(string): bool', patternCost, matches)
    .declare('matches(string, string): bool', patternCost, matches)
    .declare(
      'string.find(string): string',
      patternCost,
      (text: string, pattern: string, budget: Budget) => findAll(text, pattern, 1n, budget).at(0) ?? '',
    )
    .declare('string.findAll(string): list<string>', patternCost, (text: string, pattern: string, budget: Budget) =>
      findAll(text, pattern, -1n, budget),
    )
    .declare('string.findAll(string, int): list<string>', patternCost, findAll);
}

function place(text: string, character: bigint): number {
  const found = placeOf(text, character);
  if (found === undefined) throw new CelError(`index out of range: ${character}`);
  return found;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** Letters beyond ASCII stay as they are; where there are some, run by run, which takes ten times as long. */
function inOneCase(text: string, runs: RegExp, change: (run: string) => string, budget: Budget): string {
  if (!BEYOND_ASCII.test(text)) return change(text);
  budget.charge(text.length);
  return text.replace(runs, change);
}

function charAt(text: string, at: bigint): string {
  const code = text.codePointAt(place(text, at));
  return code === undefined ? '' : String.fromCodePoint(code);
}

function substring(text: string, from: bigint, to: bigint): string {
  if (from > to) throw new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  return text.slice(place(text, from), place(text, to));
}

function split(text: string, separator: string, limit: bigint, budget: Budget): string[] {
  if (limit === 0n) return [];
  // There are no more parts than characters; each is kept.
  budget.charge(separator === '' ? text.length : traversal(text.length / separator.length));
  const parts = splitText(text, separator, limit < 0n ? Infinity : Number(limit));
  budget.charge(parts.length);
  return parts;
}

function replace(text: string, old: string, next: string, times: bigint, budget: Budget): string {
  const limit = times < 0n ? Infinity : Number(times);
  if (old === '') {
    budget.charge(text.length);
    const characters = [...text];
    const count = Math.min(limit, characters.length + 1);
    budget.charge(traversal(count * next.length));
    return (
      characters.map((one, i) => (i < count ? next + one : one)).join('') + (count > characters.length ? next : '')
    );
  }
  const parts = splitText(text, old, limit + 1);
  budget.charge(parts.length + traversal((parts.length - 1) * next.length));
  return parts.join(next);
}

function join(list: readonly string[], separator: string, budget: Budget): string {
  budget.charge(list.length);
  let characters = Math.max(0, list.length - 1) * separator.length;
  for (const one of list) {
    if (typeof one !== 'string') throw new CelError('no such overload');
    characters += one.length;
  }
  budget.charge(2 * traversal(characters));
  return list.join(separator);
}

function matches(text: string, pattern: string, budget: Budget): boolean {
  return withPattern(pattern, budget, (compiled) => compiled.matches(text, budget));
}

function findAll(text: string, pattern: string, most: bigint, budget: Budget): string[] {
  return withPattern(pattern, budget, (compiled) => {
    const found: string[] = [];
    for (let at = 0; at <= text.length && BigInt(found.length) !== most; ) {
      const match = compiled.find(text, at, budget);
      if (!match) break;
      budget.charge(3 + traversal(match.end - match.start));
      found.push(text.slice(match.start, match.end));
      at = match.end > match.start ? match.end : match.end + (text.codePointAt(match.end)! > 0xffff ? 2 : 1);
    }
    return found;
  });
}

function withPattern<T>(pattern: string, budget: Budget, use: (compiled: ReturnType<typeof compilePattern>) => T): T {
  try {
    return use(compilePattern(pattern, budget));
  } catch (err) {
    if (err instanceof PatternError) throw new CelError(err.message);
    throw err;
  }
}
