/**
 * The indexes of an Indexed Job: those that are done as text (`0-2,4`), and those that are still to be given. They are kept as
 * ranges: a Job may have two thousand million of them, of which most are done.
 */
import type { corev1 } from '../../../client/index.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';

type Range = [first: number, last: number];

export function indexOf({ metadata }: corev1.Pod): number {
  return Number(metadata.annotations?.[INDEX] ?? Number.NaN);
}

/** What was done before, and these; sorted, in ranges. */
export function indexesText(done: readonly number[], before = ''): string {
  return merged([...parseIndexes(before), ...done.filter(Number.isInteger).map((index): Range => [index, index])])
    .map(([first, last]) =>
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    )
    .join(',');
}

/** The lowest, at most `count`. */
export function freeIndexes(
  completions: number,
  done: string | undefined,
  active: readonly corev1.Pod[],
  count: number,
): number[] {
  const running = active.map(indexOf).filter(Number.isInteger);
  const taken = merged([...parseIndexes(done ?? ''), ...running.map((index): Range => [index, index])]);
  const free: number[] = [];
  let next = 0;
  for (const [first, last] of [...taken, [completions, completions]]) {
    for (; next < Math.min(first!, completions) && free.length < count; next++) free.push(next);
    next = Math.max(next, last! + 1);
  }
  return free;
}

export function countIndexes(text: string): number {
  return merged(parseIndexes(text)).reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** How many are in both. */
export function commonIndexes(one: string, other: string): number {
  const [a, b] = [merged(parseIndexes(one)), merged(parseIndexes(other))];
  let count = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    count += Math.max(0, Math.min(a[i]![1], b[j]![1]) - Math.max(a[i]![0], b[j]![0]) + 1);
    if (a[i]![1] < b[j]![1]) i++;
    else j++;
  }
  return count;
}

export function hasIndex(text: string, index: number): boolean {
  return parseIndexes(text).some(([first, last]) => first <= index && index <= last);
}

/** In order, without gaps between two and without what is said twice. */
function merged(ranges: readonly Range[]): Range[] {
  const found: Range[] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = found.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

function parseIndexes(text: string): Range[] {
  if (text === '') return [];
  return text.split(',').map((part): Range => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return [first, last];
  });
}
