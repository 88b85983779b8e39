/**
 * Which history the revisions of a store belong to, across its runs: a line for each time it was opened, with the revision
 * it was at. What a run has shown is part of the history if no later run began before it.
 *
 *   store 6f0c1d2e9a7b3c44      drawn when the store was made
 *   run 51b0c9d2f8e7a610 1
 *   run 9e4f7a2b6c8d0e13 4711   the run before has shown nothing beyond 4711, or what it has shown is lost
 *
 * A store that is made anew, or restored from a snapshot, is another one. A folder that was put back from a copy has the
 * lines of that time, so whoever was shown something later is told that it is gone, also when the numbers have been given
 * out again since. Nothing else rests on the file: one that is missing, damaged or could not be written only means that
 * those who come back have to read everything anew. It holds the last `MOST_RUNS` runs.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { PRIVATE_FILE } from '../../../files/private-files.ts';
import type { Revision } from '../../kv.ts';
import { isInHistory } from '../../store-history.ts';
import { syncFile } from './data-dir.ts';

type Run = { readonly id: string; readonly from: Revision };

const MOST_RUNS = 1_000;
const MOST_BYTES = 100 * 1024;

export class History {
  /** Of this run, to be given to whoever is shown a revision. */
  readonly name: string;
  /** Each run, by the name that it gave, and where the one after it began. */
  readonly ends: ReadonlyMap<string, Revision>;

  constructor(store: string, runs: readonly Run[]) {
    this.name = `${store}.${runs.at(-1)!.id}`;
    this.ends = new Map(
      runs.map(({ id }, index) => [`${store}.${id}`, runs[index + 1]?.from ?? Number.POSITIVE_INFINITY]),
    );
  }

  /** Whether a revision that was shown under this name is part of this history. */
  includes(name: string, revision: Revision): boolean {
    return isInHistory(this.ends, name, revision);
  }
}

/** Another run begins. `store` is the one that the seal names. */
export function beginRun(file: string, store: bigint, from: Revision, isDurable: boolean): History {
  const name = store.toString(16).padStart(16, '0');
  const runs = [...readRuns(file, name), { id: randomBytes(8).toString('hex'), from }].slice(-MOST_RUNS);
  const lines = [`store ${name}`, ...runs.map((run) => `run ${run.id} ${run.from}`)];
  try {
    writeFileSync(`${file}.new`, `${lines.join('\n')}\n`, { mode: PRIVATE_FILE });
    if (isDurable) syncFile(`${file}.new`);
    renameSync(`${file}.new`, file);
  } catch {
    // A full disk: this run is known to itself only, and its readers read anew after the next.
  }
  return new History(name, runs);
}

/** None of another store, and none if a single line is not as it should be. */
function readRuns(file: string, store: string): Run[] {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    return [];
  }
  if (text.length > MOST_BYTES) return [];
  const [first, ...lines] = text.split('\n').slice(0, -1);
  if (first !== `store ${store}`) return [];
  const runs: Run[] = [];
  for (const line of lines) {
    const [, id, from] = /^run ([0-9a-f]{16}) (\d{1,16})$/.exec(line) ?? [];
    if (id === undefined || Number(from) < (runs.at(-1)?.from ?? 0)) return [];
    runs.push({ id, from: Number(from) });
  }
  return runs;
}
