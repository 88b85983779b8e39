/**
 * The file under steady rewriting: the same keys are written again and again, with a compaction after every round.
 * What compaction frees must be used again, so that the file stops growing after the first rounds.
 */
import { type Benchmark, type Context, openEmbedded } from '../lib/contenders.ts';
import { inFlight, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow, SHARE, valueRow } from '../lib/report.ts';
import { KeySet, VALUE_BYTES } from './workload.ts';

const MB = 1e6;
const WRITERS = 256;
/** By then the file has reached its size. */
const SETTLED_ROUND = 3;
/** A page more or less in a small file is no growth. */
const CONSTANT = 1.02;

export const storeRewriting: Benchmark = { name: 'rewriting', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  await using store = await openEmbedded(context);
  const keyCount = isQuick ? 2500 : 10_000;
  const rewrites = 2 * keyCount;
  const keys = new KeySet(store, 'rewritten');
  await keys.createAll(keyCount, signal);
  const sizes: number[] = [];
  const runs: Run[] = [];
  for (let round = 0; round < (isQuick ? 6 : 12); round++) {
    say(`rewriting, round ${round + 1}`);
    runs.push(await measure(() => inFlight(rewrites, WRITERS, (i) => keys.update(i % keyCount), { signal })));
    await store.compact(await store.revision(), { physical: true });
    sizes.push((await store.status()).sizeBytes);
  }

  const last = sizes[sizes.length - 1]!;
  const pairBytes = VALUE_BYTES + keys.key(0).length;
  return [
    valueRow('rewriting: file, last round to third', SHARE, [last / sizes[SETTLED_ROUND - 1]!], {
      target: { value: CONSTANT },
      note: `MB per round: ${sizes.map((size) => (size / MB).toFixed(1)).join(', ')}`,
    }),
    valueRow('rewriting: file to live pairs', SHARE, [last / (keyCount * pairBytes)]),
    valueRow('rewriting: file to live and superseded pairs', SHARE, [last / ((keyCount + rewrites) * pairBytes)], {
      target: { value: 1.3 },
      note: 'of one round',
    }),
    rateRow(`update, ${WRITERS} in flight, compacted between rounds`, 'writes/s', { embedded: runs }),
  ];
}
