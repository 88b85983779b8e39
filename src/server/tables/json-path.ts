/**
 * The part of JSONPath that column definitions, selectable fields and scale paths use: names (`.a`, `['a.b']`, `\.`
 * inside a name), indexes, slices, `*`, `..name`, and filters that compare one path with a literal. With or without
 * braces around it.
 *
 * Compiled once; an evaluation never fails: what is not there is simply not found, and takes at most the size of the
 * value for each step. Compiling fails with a JsonPathError, also for a path that is longer than anybody writes one.
 */
import type { JsonValue } from '../../api/json.ts';
import { exactInteger } from '../codec/int64.ts';
import { jsonEqual } from '../codec/json-objects.ts';

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** All values a path leads to, in order. */
export type JsonPath = (root: unknown) => JsonValue[];

type Step = (values: readonly JsonValue[]) => JsonValue[];

const maxCharacters = 1024;
/** Each of them looks at everything. */
const maxDeepSteps = 8;

export function compileJsonPath(path: string): JsonPath {
  if (path.length > maxCharacters)
    throw new JsonPathError(`Cannot read a JSONPath: it is longer than ${maxCharacters} characters`);
  const inner = /^\{(.*)\}$/s.exec(path.trim())?.[1] ?? path.trim();
  const steps = readSteps(inner.replace(/^[$@]/, ''), path);
  return (root) => {
    let values = [root as JsonValue];
    for (const step of steps) values = step(values);
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
    steps.push(byFilter(compileJsonPath(left), operator, literal));
  }
  return steps;
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
