/**
 * Compaction under way: how fast superseded revisions go, and what it does to those who write meanwhile. Eight
 * writers update a thousand keys, first alone, then while a compaction removes the history of ten thousand others.
 */
import { type Benchmark, type Context, openEmbedded } from '../lib/contenders.ts';
import { inFlight, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow, valueRow } from '../lib/report.ts';
import { KeySet } from './workload.ts';

const WRITERS = 8;
const OLD_KEYS = 10_000;
const WRITTEN_KEYS = 1000;
const REWRITERS = 256;

type Round = { readonly removedPerSecond: number; readonly before: Run; readonly during: Run; readonly fill: Run };

export const storeCompaction: Benchmark = { name: 'compaction', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  await using store = await openEmbedded(context);
  const old = new KeySet(store, 'old');
  const written = new KeySet(store, 'written');
  await old.createAll(OLD_KEYS, signal);
  await written.createAll(WRITTEN_KEYS, signal);
  const write = (i: number) => written.update(i % WRITTEN_KEYS);

  const rounds: Round[] = [];
  let compacted = await store.revision(); // up to here every record is the newest of its key
  for (let round = 0; round < (isQuick ? 2 : 3); round++) {
    say('compaction');
    const fill = await measure(() =>
      inFlight(isQuick ? 20_000 : 80_000, REWRITERS, (i) => old.update(i % OLD_KEYS), { signal }),
    );
    const before = await measure(() =>
      inFlight(Number.POSITIVE_INFINITY, WRITERS, write, { signal, limitMs: isQuick ? 500 : 1500 }),
    );
    const revision = await store.revision();
    const removed = revision - compacted; // every put was a revision of its own and superseded another
    let isOver = false;
    let seconds = 0;
    const during = await measure(async () => {
      const begin = performance.now();
      const compaction = store.compact(revision, { physical: true }).finally(() => {
        seconds = (performance.now() - begin) / 1000;
        isOver = true;
      });
      const writing = inFlight(Number.POSITIVE_INFINITY, WRITERS, write, { signal, until: () => isOver });
      const [done] = await Promise.all([writing, compaction]);
      return done;
    });
    compacted = revision;
    rounds.push({ removedPerSecond: removed / seconds, before, during, fill });
  }

  const runs = (phase: 'before' | 'during' | 'fill') => ({ embedded: rounds.map((round) => round[phase]) });
  const latency = (what: string, pick: (run: Run) => number, more: Partial<Row> = {}) =>
    valueRow(
      what,
      'ms',
      rounds.map(({ during }) => pick(during)),
      {
        note: `without: ${rounds.map(({ before }) => pick(before).toFixed(1)).join(', ')}`,
        ...more,
      },
    );
  return [
    valueRow(
      'compaction: removal',
      'revisions/s',
      rounds.map((round) => round.removedPerSecond),
      {
        better: 'higher',
        target: { value: 20_000 },
        note: `${WRITERS} writers meanwhile`,
      },
    ),
    latency('compaction: longest write', (run) => run.maxMs, { target: { value: 20 } }),
    latency('compaction: p99 of writes', (run) => run.p99Ms),
    rateRow(`update, ${WRITERS} in flight, before compaction`, 'writes/s', runs('before')),
    rateRow(`update, ${WRITERS} in flight, during compaction`, 'writes/s', runs('during')),
    rateRow(`update, ${REWRITERS} in flight, history kept`, 'writes/s', runs('fill')),
  ];
}
