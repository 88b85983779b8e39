/**
 * Reads of what was written before: single keys, and a whole prefix of 10,000.
 *
 * A read of the embedded store needs no turn of the event loop, so one reader is its best case; etcd is at its best
 * with several requests on the way. The row that is judged sets the better of two widths against the better of two.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Store } from '../../src/store/index.ts';
import { type Benchmark, type ContenderName, type Context, openContenders } from '../lib/contenders.ts';
import { inFlight, interleave, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow } from '../lib/report.ts';
import { KeySet } from './workload.ts';

const KEYS = 10_000;
/** Reads between two turns of the event loop, which the benchmark owes to the rest of the process. */
const READS_PER_TURN = 384;
const RUN_LIMIT_MS = 2000;
const widths = [1, 32] as const;

export const storeReads: Benchmark = { name: 'reads', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  await using contenders = await openContenders(context);
  const keySets = new Map<ContenderName, KeySet>();
  for (const name of contenders.names) {
    const keys = new KeySet(contenders.store(name), 'reads');
    await keys.createAll(KEYS, signal);
    keySets.set(name, keys);
  }
  const rounds = isQuick ? 2 : 5;
  const limitMs = isQuick ? 2000 : 10_000;

  say('reads of single keys');
  const readsOf = { embedded: isQuick ? 50_000 : 200_000, etcd: isQuick ? 2000 : 8000 };
  const readOnce = async (name: ContenderName): Promise<Run[]> => {
    const read = (width: number) => readKeys(contenders.store(name), keySets.get(name)!, readsOf[name], width, signal);
    const runs: Run[] = [];
    for (const width of widths) runs.push(await measure(() => read(width)));
    return runs;
  };
  const gets = await interleave(rounds, contenders.names, readOnce, limitMs);
  const bestOf = (perWidth: readonly Run[]) => perWidth.reduce((a, b) => (b.perSecond > a.perSecond ? b : a));

  say(`scans of ${KEYS} keys`);
  const scanOnce = (name: ContenderName): Promise<Run> =>
    measure(() => scanPrefix(contenders.store(name), keySets.get(name)!, isQuick ? 5 : 15, signal));
  const scans = await interleave(rounds, contenders.names, scanOnce, limitMs);

  return [
    ...widths.map((width, i) =>
      rateRow(`get, ${width} in flight`, 'reads/s', {
        embedded: gets.embedded.map((perWidth) => perWidth[i]!),
        etcd: gets.etcd?.map((perWidth) => perWidth[i]!),
      }),
    ),
    rateRow(
      'get, the better width of each',
      'reads/s',
      { embedded: gets.embedded.map(bestOf), etcd: gets.etcd?.map(bestOf) },
      { target: { ratio: 15 } },
    ),
    rateRow(`range of ${KEYS} keys`, 'ranges/s', scans, { target: { ratio: 2.5 } }),
  ];
}

async function readKeys(store: Store, keys: KeySet, count: number, width: number, signal: AbortSignal) {
  const length = READS_PER_TURN / width;
  const readStretch = async (stretch: number) => {
    for (let i = 0; i < length; i++) {
      // 7919 is a prime: the reads jump about, and come by every key.
      const key = keys.key(((stretch * length + i) * 7919) % KEYS);
      const { kv } = await store.get(key);
      if (!kv) throw new Error(`Cannot find ${JSON.stringify(key)}: it was written before`);
    }
    await nextTurn();
  };
  const { operations } = await inFlight(Math.ceil(count / length), width, readStretch, {
    signal,
    limitMs: RUN_LIMIT_MS,
  });
  return { operations: operations * length, latenciesMs: [] };
}

async function scanPrefix(store: Store, { prefix }: KeySet, count: number, signal: AbortSignal) {
  const scan = async () => {
    const { kvs } = await store.range({ prefix });
    if (kvs.length !== KEYS) throw new Error(`Cannot use a range of ${kvs.length} keys: it must hold ${KEYS}`);
  };
  return await inFlight(count, 1, scan, { signal, limitMs: RUN_LIMIT_MS });
}
