/**
 * Whether a text is a cron schedule: five fields of numbers, names, ranges, steps and lists, or one of the `@` words.
 *
 * Only well-formedness is told, in the words of the parser kube-apiserver uses; nothing is computed from it.
 */
import { DurationError, parseGoDuration, quote } from '../../../api/index.ts';

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

type Bounds = { readonly least: number; readonly most: number; readonly names?: ReadonlyMap<string, number> };

const fields: readonly Bounds[] = [
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  { least: 1, most: 12, names: new Map(months.map((name, index) => [name, index + 1])) },
  { least: 0, most: 6, names: new Map(days.map((name, index) => [name, index])) },
];
const words = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);

const every = '@every ';

/** What is wrong with it; undefined if nothing is. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.startsWith('@')) {
    if (schedule.startsWith(every)) return intervalProblem(schedule);
    return words.has(schedule) ? undefined : `unrecognized descriptor: ${schedule}`;
  }
  const given = schedule
    .trim()
    .split(/\s+/)
    .filter((field) => field !== '');
  if (given.length !== fields.length) return `expected exactly 5 fields, found ${given.length}: [${given.join(' ')}]`;
  for (const [index, field] of given.entries()) {
    for (const part of field.split(',').filter((one) => one !== '')) {
      const problem = partProblem(part, fields[index]!);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function intervalProblem(schedule: string): string | undefined {
  try {
    parseGoDuration(schedule.slice(every.length));
    return undefined;
  } catch (err) {
    if (err instanceof DurationError) return `failed to parse duration ${schedule}: ${err.message}`;
    throw err;
  }
}

/** Of a star nothing is read but its step; one number with a step goes up to the last there is. */
function partProblem(part: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...more] = part.split('/');
  const ends = range.split('-');
  let [from, to]: [number, number] = [bounds.least, bounds.most];
  if (ends[0] !== '*' && ends[0] !== '?') {
    const [first, last] = ends.map((end) => bounds.names?.get(end.toLowerCase()) ?? readNumber(end));
    if (typeof first === 'string') return first;
    if (ends.length > 2) return `too many hyphens: ${part}`;
    if (typeof last === 'string') return last;
    from = first!;
    to = last ?? (step === undefined ? from : bounds.most);
  }
  if (more.length > 0) return `too many slashes: ${part}`;
  const count = step === undefined ? 1 : readNumber(step);
  if (typeof count === 'string') return count;
  if (from < bounds.least) return `beginning of range (${from}) below minimum (${bounds.least}): ${part}`;
  if (to > bounds.most) return `end of range (${to}) above maximum (${bounds.most}): ${part}`;
  if (from > to) return `beginning of range (${from}) beyond end of range (${to}): ${part}`;
  return count === 0 ? `step of range should be a positive number: ${part}` : undefined;
}

/** A number, or why it is none. Of so many digits that 64 bits cannot hold them nothing more is asked: that takes long. */
function readNumber(text: string): number | string {
  const isNumber = /^[+-]?[0-9]+$/.test(text);
  const first = text.search(/[1-9]/);
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  const number = Number(text);
  const isIn = isNumber && (first < 0 || text.length - first < 20) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
  if (!isIn) return `failed to parse int from ${text}: strconv.Atoi: parsing ${quote(text)}: ${why}`;
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number;
}
