/**
 * Opening a store that is full: every record is read and checked, and the index built from it. The data is written
 * without flushing, to save time, and lies in the cache of the system when it is read. Each round opens it in a fresh
 * process; RSS counts the pages of the file that are mapped, heap does not.
 */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts';
import type { Benchmark, Context } from '../lib/contenders.ts';
import { forkBuilt } from '../lib/fork-built.ts';
import { inFlight } from '../lib/measure.ts';
import { type Row, valueRow } from '../lib/report.ts';
import type { Opening } from './store-open-child.ts';
import { KeySet } from './workload.ts';

const MB = 1e6;
const LIMIT_SECONDS = 1.5;

export const storeOpen: Benchmark = { name: 'open', run };

async function run({ isQuick, folder, signal, say }: Context): Promise<Row[]> {
  const keys = isQuick ? 50_000 : 250_000;
  const dataDir = mkdtempSync(join(folder, 'store-'));
  say(`open: writing ${keys} keys`);
  await writeKeys(dataDir, keys, signal);
  const openings: Opening[] = [];
  for (let round = 0; round < (isQuick ? 2 : 3); round++) {
    say('open');
    const opening = await openInChild(dataDir, signal);
    if (opening.keys !== keys) throw new Error(`Cannot use the store: it opened with ${opening.keys} of ${keys} keys`);
    openings.push(opening);
  }
  const of = (pick: (opening: Opening) => number) => openings.map(pick);
  const note = `${keys} keys`;
  return [
    {
      ...valueRow(
        'open',
        's',
        of(({ run }) => run.p50Ms / 1000),
        isQuick ? { note } : { note, target: { value: LIMIT_SECONDS } },
      ),
      embedded: { values: of(({ run }) => run.p50Ms / 1000), runs: openings.map(({ run }) => run) },
    },
    valueRow(
      'open: heap',
      'MB',
      of(({ heapBytes }) => heapBytes / MB),
      { note },
    ),
    valueRow(
      'open: RSS',
      'MB',
      of(({ rssBytes }) => rssBytes / MB),
      {
        note: `${Math.round(openings[0]!.bareRssBytes / MB)} MB of it before opening`,
      },
    ),
  ];
}

async function writeKeys(dataDir: string, count: number, signal: AbortSignal): Promise<void> {
  await using store = await openEmbeddedStore({ dataDir, durability: 'none', autoCompaction: { mode: 'off' } });
  const keys = new KeySet(store, 'open');
  await inFlight(count, 1024, (i) => keys.create(i), { signal });
}

async function openInChild(dataDir: string, signal: AbortSignal): Promise<Opening> {
  const child = forkBuilt(new URL('./store-open-child.ts', import.meta.url), [dataDir], { signal });
  const answered = once(child, 'message', { signal }) as Promise<[Opening]>;
  const exited = once(child, 'exit', { signal }) as Promise<[number | null]>;
  answered.catch(() => {}); // a child that ends without an answer is told by its exit
  const [code] = await exited;
  if (code !== 0) throw new Error(`Cannot open the store in a child process: it ended with ${code}`);
  const [opening] = await answered;
  return opening;
}
