/**
 * Whether a text is a cron schedule: five fields of numbers, names, ranges, steps and lists, or one of the `@` words.
 *
 * Only well-formedness is told, in the words of the parser kube-apiserver uses; nothing is computed from it.
 */
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

/** What is wrong with it; undefined if nothing is. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.startsWith('@')) {
    if (words.has(schedule) || /^@every ([0-9.]+(ns|us|µs|ms|s|m|h))+$/.test(schedule)) return undefined;
    return `unrecognized descriptor: ${schedule}`;
  }
  const given = schedule
    .trim()
    .split(/\s+/)
    .filter((field) => field !== '');
  if (given.length !== fields.length) return `expected exactly 5 fields, found ${given.length}: [${given.join(' ')}]`;
  for (const [index, field] of given.entries()) {
    for (const part of field.split(',')) {
      const problem = partProblem(part, fields[index]!);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function partProblem(part: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...others] = part.split('/');
  if (others.length > 0) return `too many slashes: ${part}`;
  const ends = range.split('-');
  if (ends.length > 2) return `too many hyphens: ${part}`;
  if (step !== undefined && !/^\d+$/.test(step))
    return `failed to parse int from ${step}: strconv.Atoi: parsing "${step}": invalid syntax`;
  if (step === '0') return `step of range should be a positive number: ${part}`;
  if (range === '*' || range === '?') return undefined;
  const numbers = ends.map((end) => bounds.names?.get(end.toLowerCase()) ?? (/^\d+$/.test(end) ? Number(end) : end));
  const bad = numbers.find((end) => typeof end === 'string');
  if (bad !== undefined) return `failed to parse int from ${bad}: strconv.Atoi: parsing "${bad}": invalid syntax`;
  const [from, to = from] = numbers as [number, number?];
  if (from < bounds.least) return `beginning of range (${from}) below minimum (${bounds.least}): ${part}`;
  if (to > bounds.most) return `end of range (${to}) above maximum (${bounds.most}): ${part}`;
  if (from > to) return `beginning of range (${from}) beyond end of range (${to}): ${part}`;
  return undefined;
}
