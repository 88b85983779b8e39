/**
 * Sets of characters as sorted ranges of code points: `[low, high, low, high, ...]`, none touching the next. What a
 * pattern's classes become, so that all of them can be cut into one alphabet and asked with a binary search.
 *
 * Never changed once made. Unicode's own sets (categories, scripts, the pairs of letters that differ in case) are read
 * out of the engine of JavaScript when they are first asked for, and kept: there are some two hundred of them.
 */
export type CharacterSet = readonly number[];

export const LAST_CODE = 0x10ffff;
export const everyCharacter: CharacterSet = [0, LAST_CODE];

/** From ranges in any order, touching or not. */
export function setOf(ranges: readonly number[]): CharacterSet {
  const pairs: [low: number, high: number][] = [];
  for (let i = 0; i < ranges.length; i += 2) pairs.push([ranges[i]!, ranges[i + 1]!]);
  pairs.sort(([a], [b]) => a - b);
  const set: number[] = [];
  for (const [low, high] of pairs) {
    if (set.length > 0 && low <= set.at(-1)! + 1) set[set.length - 1] = Math.max(set.at(-1)!, high);
    else set.push(low, high);
  }
  return set;
}

export function allBut(set: CharacterSet): CharacterSet {
  const rest: number[] = [];
  let from = 0;
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) rest.push(from, set[i]! - 1);
    from = set[i + 1]! + 1;
  }
  if (from <= LAST_CODE) rest.push(from, LAST_CODE);
  return rest;
}

export function contains(set: CharacterSet, code: number): boolean {
  let [low, high] = [0, set.length >> 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[2 * middle + 1]! < code) low = middle + 1;
    else high = middle;
  }
  return 2 * low < set.length && set[2 * low]! <= code;
}

/** The same with every letter in all its cases. */
export function withAllCases(set: CharacterSet): CharacterSet {
  const { codes, others } = caseTable();
  const more: number[] = [];
  const add = (code: number) => {
    for (const other of others.get(code) ?? []) if (!contains(set, other)) more.push(other, other);
  };
  let at = 0;
  for (let i = 0; i < set.length; i += 2) {
    const [low, high] = [set[i]!, set[i + 1]!];
    if (high - low < 4) {
      for (let code = low; code <= high; code++) add(code);
      continue;
    }
    at = firstFrom(codes, low, at);
    for (; at < codes.length && codes[at]! <= high; at++) add(codes[at]!);
  }
  return more.length === 0 ? set : setOf([...set, ...more]);
}

const known = new Map<string, CharacterSet | undefined>();
const CATEGORY = /^[CLMNPSZ][a-z]?$/;

/** A category (`Lu`) or a script (`Greek`); undefined if there is none of that name. */
export function unicodeSet(name: string): CharacterSet | undefined {
  if (name === 'Any') return everyCharacter;
  // Only the engine knows the names: those it does not know are not kept, anybody could make up more of them.
  if (known.has(name)) return known.get(name);
  try {
    const found = scan(CATEGORY.test(name) ? name : `Script=${name}`);
    known.set(name, found);
    return found;
  } catch (err) {
    if (err instanceof SyntaxError) return undefined;
    throw err;
  }
}

type CaseTable = { readonly codes: readonly number[]; readonly others: ReadonlyMap<number, readonly number[]> };
let cases: CaseTable | undefined;

/** Dotted and dotless i: their other cases are more than one letter, or another alphabet's. */
const WITHOUT_CASES: CharacterSet = [0x130, 0x131];

function caseTable(): CaseTable {
  if (cases) return cases;
  const groups = new Map<string, number[]>();
  const changing = scan('Changes_When_Casemapped');
  for (let i = 0; i < changing.length; i += 2) {
    for (let code = changing[i]!; code <= changing[i + 1]!; code++) {
      if (contains(WITHOUT_CASES, code)) continue;
      const upper = String.fromCodePoint(code).toUpperCase();
      const folded = (isOneCharacter(upper) ? upper : String.fromCodePoint(code)).toLowerCase();
      if (!isOneCharacter(folded)) continue;
      const group = groups.get(folded);
      if (group) group.push(code);
      else groups.set(folded, [code]);
    }
  }
  const others = new Map<number, readonly number[]>();
  for (const group of groups.values())
    for (const code of group)
      if (group.length > 1)
        others.set(
          code,
          group.filter((other) => other !== code),
        );
  cases = { codes: [...others.keys()].sort((a, b) => a - b), others };
  return cases;
}

function isOneCharacter(text: string): boolean {
  return text.length === 1 || (text.length === 2 && text.codePointAt(0)! > 0xffff);
}

function firstFrom(sorted: readonly number[], value: number, start: number): number {
  let [low, high] = [start, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where characters are assigned one by one; what lies between is alike throughout. */
const STRETCHES: readonly (readonly [from: number, to: number])[] = [
  [0, 0xd7ff],
  [0xe000, 0xffff],
  [0x10000, 0x323ff],
  [0xe0000, 0xe0fff],
];
const ALIKE: readonly (readonly [from: number, to: number])[] = [
  [0xd800, 0xdfff],
  [0x32400, 0xdffff],
  [0xe1000, 0xeffff],
  [0xf0000, 0xffffd],
  [0x100000, 0x10fffd],
];
let alphabet: readonly string[] | undefined;

function scan(property: string): CharacterSet {
  const runs = new RegExp(`\\p{${property}}+`, 'gu');
  alphabet ??= STRETCHES.map(([from, to]) => textOf(from, to));
  const ranges: number[] = [];
  for (const [index, [from]] of STRETCHES.entries()) {
    const units = from > 0xffff ? 2 : 1;
    for (const { index: at, 0: run } of alphabet[index]!.matchAll(runs))
      ranges.push(from + at / units, from + (at + run.length) / units - 1);
  }
  for (const [from, to] of ALIKE) {
    runs.lastIndex = 0;
    if (runs.test(String.fromCodePoint(from))) ranges.push(from, to);
  }
  return setOf(ranges);
}

function textOf(from: number, to: number): string {
  let text = '';
  for (let code = from; code <= to; code++) text += String.fromCodePoint(code);
  return text;
}
