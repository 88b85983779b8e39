/**
 * The part of JSONPath that column definitions, selectable fields and scale paths use: names (`.a`, `['a.b']`, `\.`
 * inside a name), indexes, slices, `*`, `..name`, and filters that compare one path with a literal. With or without
 * braces around it.
 *
 * Compiled once; an evaluation never fails: what is not there is simply not found, nor is what would take more steps than
 * it is given. Compiling fails with a JsonPathError, also for a path that is longer than anybody writes one.
 */
import type { JsonValue } from '../../api/json.ts';
import { jsonEqual } from '../codec/json/json-objects.ts';
import { exactInteger } from '../codec/scalars/int64.ts';

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** All values a path leads to, in order; none when the steps are used up. */
export type JsonPath = (root: unknown, steps?: PathSteps) => JsonValue[];

/** How many values may still be looked at. Paths that share it share what is left. */
export class PathSteps {
  #left: number;

  constructor(count: number = maxSteps) {
    this.#left = count;
  }

  take(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new OutOfSteps();
  }
}

class OutOfSteps extends Error {
  override readonly name = 'OutOfSteps';
}

type Step = (values: readonly JsonValue[], steps: PathSteps) => JsonValue[];
type Walk = (root: JsonValue, steps: PathSteps) => JsonValue[];

/** Some tens of milliseconds. */
const maxSteps = 500_000;

const maxCharacters = 1024;
/** Each of them looks at everything. */
const maxDeepSteps = 8;

export function compileJsonPath(path: string): JsonPath {
  const walk = compileWalk(path);
  return (root, steps = new PathSteps()) => {
    try {
      return walk(root as JsonValue, steps);
    } catch (err) {
      if (err instanceof OutOfSteps) return [];
      throw err;
    }
  };
}

function compileWalk(path: string): Walk {
  if (path.length > maxCharacters)
    throw new JsonPathError(`Cannot read a JSONPath: it is longer than ${maxCharacters} characters`);
  const inner = /^\{(.*)\}$/s.exec(path.trim())?.[1] ?? path.trim();
  const parts = readSteps(inner.replace(/^[$@]/, ''), path);
  return (root, steps) => {
    let values = [root];
    for (const part of parts) {
      if (values.length === 0) break;
      steps.take(values.length);
      values = part(values, steps);
    }
    return values;
  };
}

const namePattern = /^\.((?:\\.|[^\\.[\]\s'"(){}])+)/;
const deepPattern = /^\.\.((?:\\.|[^\\.[\]\s'"(){}])+)/;
const quotedPattern = /^\.?\[\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*\]/;
// Never two repeats of blanks with nothing between them: that would be tried in every way.
const indexPattern = /^\.?\[\s*(?:(-?\d+)\s*)?(?:(:)\s*(?:(-?\d+)\s*)?(?::\s*(?:\d+\s*)?)?)?\]/;
const starPattern = /^\.?\[\s*\*\s*\]/;
// A filter in its parts, taken one after the other: none of them begins with what the one before ends with.
const filterBegin = /^\.?\[\?\(\s*@/;
const filterPath = /^(?:\\.|[^\\=!<>~'"\s)])*/;
const filterOperator = /^(?:==|!=|<=|>=|<|>)/;
const filterLiteral = /^(?:'[^']*'|"[^"]*"|[^\s)'"][^\s)]*)/;
const filterEnd = /^\)\]/;
const blanks = /^\s*/;

function readSteps(text: string, whole: string): Step[] {
  const steps: Step[] = [];
  let rest = text;
  let deepSteps = 0;
  const take = (pattern: RegExp) => {
    const match = pattern.exec(rest);
    if (match) rest = rest.slice(match[0].length);
    return match;
  };
  while (rest !== '' && rest !== '.') {
    const deep = take(deepPattern);
    if (deep) {
      steps.push(allBelow, byName(unescapeName(deep[1]!)));
      if (++deepSteps > maxDeepSteps)
        throw new JsonPathError(
          `Cannot read the JSONPath ${JSON.stringify(whole)}: it has more than ${maxDeepSteps} ".."`,
        );
      continue;
    }
    const named = take(namePattern);
    if (named) {
      steps.push(byName(unescapeName(named[1]!)));
      continue;
    }
    const quoted = take(quotedPattern);
    if (quoted) {
      const name = unescapeName(quoted[1] ?? quoted[2] ?? '');
      steps.push(each((value) => member(value, name)));
      continue;
    }
    const indexed = take(indexPattern);
    if (indexed) {
      steps.push(byIndex(indexed[1] ?? '', indexed[2] !== undefined, indexed[3] ?? ''));
      continue;
    }
    if (take(starPattern)) {
      steps.push(each(children));
      continue;
    }
    const at = rest;
    const isFilter = take(filterBegin);
    const left = take(filterPath)![0];
    take(blanks);
    const operator = take(filterOperator)?.[0];
    take(blanks);
    const literal = operator === undefined ? undefined : take(filterLiteral)?.[0];
    take(blanks);
    if (!isFilter || (operator !== undefined && literal === undefined) || !take(filterEnd))
      throw new JsonPathError(`Cannot read the JSONPath ${JSON.stringify(whole)} at ${JSON.stringify(at)}`);
    steps.push(byFilter(compileWalk(left), operator, literal));
  }
  return steps;
}

function each(find: (value: JsonValue, steps: PathSteps) => readonly JsonValue[]): Step {
  return (values, steps) => {
    const [only] = values;
    if (values.length === 1) return charged(find(only!, steps), steps) as JsonValue[];
    const found: JsonValue[] = [];
    for (const value of values) for (const one of charged(find(value, steps), steps)) found.push(one);
    return found;
  };
}

function charged(found: readonly JsonValue[], steps: PathSteps): readonly JsonValue[] {
  steps.take(found.length);
  return found;
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

function byFilter(left: Walk, operator: string | undefined, right: string | undefined): Step {
  const literal = right === undefined ? undefined : readLiteral(right);
  return each((value, steps) => {
    const candidates = Array.isArray(value) ? value : children(value);
    steps.take(candidates.length);
    return candidates.filter((candidate) => {
      const [found] = left(candidate, steps);
      return operator === undefined ? found !== undefined : compare(found, operator, literal);
    });
  });
}

function compare(found: JsonValue | undefined, operator: string, literal: JsonValue | undefined): boolean {
  if (found === undefined) return false;
  if (operator === '==') return isScalarEqual(found, literal);
  if (operator === '!=') return !isScalarEqual(found, literal);
  const isOrdered = typeof found === 'string' ? typeof literal === 'string' : isNumber(found) && isNumber(literal);
  if (!isOrdered) return false;
  const [a, b] = [found as number | string, literal as number | string];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}

function isScalarEqual(found: JsonValue, literal: JsonValue | undefined): boolean {
  return found === literal || (typeof found === 'bigint' && jsonEqual(found, literal));
}

function isNumber(value: JsonValue | undefined): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function readLiteral(text: string): JsonValue {
  if (/^['"]/.test(text)) return text.slice(1, -1);
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^-?[1-9][0-9]*$/.test(text)) return exactInteger(text);
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
function allBelow(values: readonly JsonValue[], steps: PathSteps): JsonValue[] {
  const found = new Set<JsonValue>();
  const open = values.slice().reverse();
  while (open.length > 0) {
    const value = open.pop()!;
    if (typeof value !== 'object' || value === null || found.has(value)) continue;
    found.add(value);
    const below = children(value);
    steps.take(1 + below.length);
    for (let i = below.length - 1; i >= 0; i--) open.push(below[i]!);
  }
  return [...found];
}

function unescapeName(name: string): string {
  return name.replace(/\\(.)/g, '$1');
}
