/**
 * Delivery: 32 writers create keys under a prefix, and every watcher of it must have counted every event before the
 * clock stops. An operation is one event that has reached one watcher.
 */
import type { Store, Watch } from '../../src/store/index.ts';
import { type Benchmark, type ContenderName, type Context, openContenders } from '../lib/contenders.ts';
import { type Done, inFlight, interleave, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow } from '../lib/report.ts';
import { KeySet } from './workload.ts';

const WRITERS = 32;

type Load = { readonly watchers: number; readonly writes: number; readonly ratio?: number };

const loads: readonly Load[] = [
  { watchers: 1, writes: 6000 },
  { watchers: 100, writes: 3000, ratio: 5 },
];

export const storeWatches: Benchmark = { name: 'watches', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  await using contenders = await openContenders(context);
  for (const name of contenders.names) await deliver(contenders.store(name), 'warm-up', 10, 1000, signal);
  const rows: Row[] = [];
  for (const { watchers, writes, ratio } of loads) {
    say(`watches, ${watchers} watchers`);
    const count = isQuick ? writes / 3 : writes;
    const deliverOnce = (name: ContenderName, round: number): Promise<Run> =>
      measure(() => deliver(contenders.store(name), `n${watchers}-r${round}`, watchers, count, signal));
    const rounds = await interleave(isQuick ? 2 : 4, contenders.names, deliverOnce, isQuick ? 2500 : 12_000);
    const what = `delivery to ${watchers} ${watchers === 1 ? 'watcher' : 'watchers'} of a prefix`;
    rows.push(rateRow(what, 'events/s', rounds, ratio === undefined ? {} : { target: { ratio } }));
  }
  return rows;
}

async function deliver(store: Store, name: string, watchers: number, writes: number, signal: AbortSignal) {
  const keys = new KeySet(store, name);
  const { finished } = await startReaders(store, keys, watchers, writes);
  await inFlight(writes, WRITERS, (i) => keys.create(i), { signal });
  await finished;
  return { operations: writes * watchers, latenciesMs: [] } satisfies Done;
}

/** Resolves once all watch; `finished` resolves when each of them has seen every event. */
export async function startReaders(
  store: Store,
  { prefix }: KeySet,
  watchers: number,
  events: number,
): Promise<{ finished: Promise<unknown> }> {
  const watches = Array.from({ length: watchers }, () => store.watch({ prefix }));
  await Promise.all(watches.map((watch) => watch.started()));
  const read = async (watch: Watch) => {
    let seen = 0;
    for await (const batch of watch) {
      seen += batch.events.length;
      if (seen >= events) break;
    }
    if (seen !== events) throw new Error(`Cannot count on a watch: it delivered ${seen} of ${events} events`);
  };
  const finished = Promise.all(watches.map(read));
  finished.catch(() => {}); // told to whoever waits for it; a writer that fails first must not leave it unheard
  return { finished };
}
