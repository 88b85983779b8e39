/** The indexes of an Indexed Job: those that are done as text (`0-2,4`), and those that are still to be given. */
import type { corev1 } from '../../client/index.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';

export function indexOf({ metadata }: corev1.Pod): number {
  return Number(metadata.annotations?.[INDEX] ?? Number.NaN);
}

/** What was done before, and these; sorted, in ranges. */
export function indexesText(done: readonly number[], before = ''): string {
  const all = [...new Set([...parseIndexes(before), ...done.filter(Number.isInteger)])].sort((a, b) => a - b);
  const ranges: [first: number, last: number][] = [];
  for (const index of all) {
    const last = ranges.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges
    .map(([first, last]) =>
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    )
    .join(',');
}

export function freeIndexes(
  completions: number,
  done: string | undefined,
  active: readonly corev1.Pod[],
  count: number,
): number[] {
  const taken = new Set([...parseIndexes(done ?? ''), ...active.map(indexOf)]);
  const free: number[] = [];
  for (let index = 0; index < completions && free.length < count; index++) if (!taken.has(index)) free.push(index);
  return free;
}

function parseIndexes(text: string): number[] {
  if (text === '') return [];
  return text.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}
