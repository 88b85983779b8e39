/**
 * The part of JSONPath that column definitions, selectable fields and scale paths use: names (`.a`, `['a.b']`, `\.`
 * inside a name), indexes, slices, `*`, `..name`, and filters that compare one path with a literal. With or without
 * braces around it.
 *
 * Compiled once; an evaluation never fails: what is not there is simply not found. Compiling fails with a JsonPathError.
 */
import type { JsonValue } from '../../api/json.ts';

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** All values a path leads to, in order. */
export type JsonPath = (root: unknown) => JsonValue[];

type Step = (values: readonly JsonValue[]) => JsonValue[];

export function compileJsonPath(path: string): JsonPath {
  const inner = /^\{(.*)\}$/s.exec(path.trim())?.[1] ?? path.trim();
  const steps = readSteps(inner.replace(/^[$@]/, ''), path);
  return (root) => {
    let values = [root as JsonValue];
    for (const step of steps) values = step(values);
    return values;
  };
}

/** Each begins where it is asked to and takes one piece: none can go back over what it took. */
const namePattern = /\.((?:\\.|[^\\.[\]\s'"(){}])+)/y;
const deepPattern = /\.\.((?:\\.|[^\\.[\]\s'"(){}])+)/y;
const openPattern = /\.?\[\s*/y;
const quotedPattern = /'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"/y;
const starPattern = /\*/y;
const numberPattern = /-?\d*/y;
const colonPattern = /:\s*/y;
const spacePattern = /\s*/y;
const closePattern = /\s*\]/y;
const filterPattern = /\?\(\s*@((?:\\.|[^\\=!<>~'"\s)])*)/y;
const operatorPattern = /==|!=|<=|>=|<|>/y;
const literalPattern = /'[^']*'|"[^"]*"|[^\s)]+/y;
const filterEndPattern = /\)\]/y;

function readSteps(text: string, whole: string): Step[] {
  const reading = new Reading(text);
  const steps: Step[] = [];
  while (reading.rest !== '' && reading.rest !== '.') {
    const start = reading.at;
    const step = readStep(reading);
    if (!step) {
      const rest = text.slice(start);
      throw new JsonPathError(`Cannot read the JSONPath ${JSON.stringify(whole)} at ${JSON.stringify(rest)}`);
    }
    steps.push(...step);
  }
  return steps;
}

function readStep(reading: Reading): Step[] | undefined {
  const deep = reading.take(deepPattern);
  if (deep) return [allBelow, byName(unescapeName(deep[1]!))];
  const named = reading.take(namePattern);
  if (named) return [byName(unescapeName(named[1]!))];
  if (!reading.take(openPattern)) return undefined;
  const quoted = reading.take(quotedPattern);
  if (quoted) {
    const name = unescapeName(quoted[1] ?? quoted[2] ?? '');
    return reading.take(closePattern) && [each((value) => member(value, name))];
  }
  if (reading.take(starPattern)) return reading.take(closePattern) && [each(children)];
  const filter = reading.take(filterPattern);
  return filter ? readFilter(reading, filter[1]!) : readIndex(reading);
}

/** `3`, `-1`, `1:3`, `:2`, and a third number that is not used. */
function readIndex(reading: Reading): Step[] | undefined {
  const numbers: string[] = [];
  do {
    numbers.push(reading.take(numberPattern)![0]);
    reading.take(spacePattern);
  } while (numbers.length < 3 && reading.take(colonPattern));
  const [from = '', to = ''] = numbers;
  return reading.take(closePattern) && [byIndex(from, numbers.length > 1, to)];
}

function readFilter(reading: Reading, path: string): Step[] | undefined {
  reading.take(spacePattern);
  const operator = reading.take(operatorPattern)?.[0];
  let literal: string | undefined;
  if (operator !== undefined) {
    reading.take(spacePattern);
    literal = reading.take(literalPattern)?.[0];
    if (literal === undefined) return undefined;
    reading.take(spacePattern);
  }
  return reading.take(filterEndPattern) && [byFilter(compileJsonPath(path), operator, literal)];
}

/** A text, and how far it was read. */
class Reading {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** What is left, as far as it takes to tell whether it is anything but a dot. */
  get rest(): string {
    return this.#text.slice(this.at, this.at + 2);
  }

  /** Nothing is taken where the pattern does not begin right here. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.at = pattern.lastIndex;
    return match;
  }
}

function each(find: (value: JsonValue) => JsonValue[]): Step {
  return (values) => values.flatMap((value) => find(value));
}

function byName(name: string): Step {
  return name === '*' ? each(children) : each((value) => member(value, name));
}

function byIndex(from: string, isSlice: boolean, to: string): Step {
  return each((value) => {
    if (!Array.isArray(value)) return [];
    if (isSlice) return value.slice(Number(from || 0), to === '' ? undefined : Number(to));
    const found = value.at(Number(from || 0));
    return found === undefined ? [] : [found];
  });
}

function byFilter(left: JsonPath, operator: string | undefined, right: string | undefined): Step {
  const literal = right === undefined ? undefined : readLiteral(right);
  return each((value) => {
    const candidates = Array.isArray(value) ? value : children(value);
    return candidates.filter((candidate) => {
      const [found] = left(candidate);
      return operator === undefined ? found !== undefined : compare(found, operator, literal);
    });
  });
}

function compare(found: JsonValue | undefined, operator: string, literal: JsonValue | undefined): boolean {
  if (found === undefined) return false;
  if (operator === '==') return found === literal;
  if (operator === '!=') return found !== literal;
  const isOrdered = typeof found === typeof literal && (typeof found === 'number' || typeof found === 'string');
  if (!isOrdered) return false;
  const [a, b] = [found as number | string, literal as number | string];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}

function readLiteral(text: string): JsonValue {
  if (/^['"]/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  const value = Number(text);
  return Number.isNaN(value) ? text : value;
}

function member(value: JsonValue, name: string): JsonValue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return [];
  const found = value[name];
  return found === undefined ? [] : [found];
}

function children(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).filter((child) => child !== undefined);
}

/** Every value at or below those given, once each; a stack of our own, since objects may nest deeper than calls can. */
function allBelow(values: readonly JsonValue[]): JsonValue[] {
  const found = new Set<JsonValue>();
  const open = [...values].reverse();
  while (open.length > 0) {
    const value = open.pop()!;
    if (typeof value !== 'object' || value === null || found.has(value)) continue;
    found.add(value);
    for (const child of [...children(value)].reverse()) open.push(child);
  }
  return [...found];
}

function unescapeName(name: string): string {
  return name.replace(/\\(.)/g, '$1');
}
