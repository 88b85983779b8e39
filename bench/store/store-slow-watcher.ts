/**
 * What a watcher that does not read costs the others. 32 writers write 30 MB while ten watchers read along; beside
 * them, or not, stands an eleventh that has begun to watch and then never asks. Afterwards it reads, and must find
 * every event.
 *
 * Memory is what heap and buffers have grown by when all is written, after a collection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../src/store/index.ts';
import { type Benchmark, type ContenderName, type Context, openContenders } from '../lib/contenders.ts';
import { type Done, inFlight, interleave, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow, SHARE, valueRow } from '../lib/report.ts';
import { startReaders } from './store-watches.ts';
import { KeySet, VALUE_BYTES } from './workload.ts';

const WRITERS = 32;
const READERS = 10;
const MB = 1e6;

type Outcome = {
  readonly writes: Run;
  readonly deliveredPerSecond: number;
  readonly grownMb: number;
  /** 0 without a slow watcher. */
  readonly caughtUpPerSecond: number;
};

type Variant = 'without' | 'beside';

export const storeSlowWatcher: Benchmark = { name: 'slow-watcher', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  // etcd writes so much more slowly that it would take most of a quick run.
  await using contenders = await openContenders(isQuick ? { ...context, hasEtcd: false } : context);
  const writes = Math.round(((isQuick ? 10 : 30) * MB) / VALUE_BYTES);
  for (const name of contenders.names) await new KeySet(contenders.store(name), 'warm-up').createAll(3000, signal);
  // What counts is a store with a slow watcher against itself without one: these two take turns.
  const outcomes = new Map<ContenderName, Record<Variant, Outcome[]>>();
  for (const name of contenders.names) {
    say(`slow watcher, ${name}`);
    const writeOnce = (variant: Variant, round: number): Promise<Outcome> =>
      writeWatched(contenders.store(name), `${variant}-${round}`, writes, variant === 'beside', signal);
    outcomes.set(name, await interleave(isQuick ? 2 : 5, ['without', 'beside'], writeOnce, isQuick ? 3000 : 12_000));
  }

  const runs = (variant: Variant) => ({
    embedded: outcomes.get('embedded')![variant].map((outcome) => outcome.writes),
    etcd: outcomes.get('etcd')?.[variant].map((outcome) => outcome.writes),
  });
  const values = (what: string, unit: string, better: Row['better'], pick: (a: Outcome, b: Outcome) => number): Row => {
    const of = ({ without, beside }: Record<Variant, Outcome[]>) => without.map((one, i) => pick(one, beside[i]!));
    const etcd = outcomes.get('etcd');
    const more = { better, ...(etcd && { etcd: { values: of(etcd), runs: [] } }) };
    return valueRow(what, unit, of(outcomes.get('embedded')!), more);
  };
  const writesLeft = (without: Outcome, beside: Outcome) => beside.writes.perSecond / without.writes.perSecond;
  const eventsLeft = (without: Outcome, beside: Outcome) => beside.deliveredPerSecond / without.deliveredPerSecond;
  const memory = (without: Outcome, beside: Outcome) => beside.grownMb - without.grownMb;
  return [
    rateRow(`write, ${READERS} watchers`, 'writes/s', runs('without')),
    rateRow(`write, ${READERS} watchers and a slow one`, 'writes/s', runs('beside')),
    values('slow watcher: share of writes/s that is left', SHARE, 'higher', writesLeft),
    values('slow watcher: share of events/s that is left', SHARE, 'higher', eventsLeft),
    values('slow watcher: memory it costs', 'MB', 'lower', memory),
    values('slow watcher: catching up', 'events/s', 'higher', (_, beside) => beside.caughtUpPerSecond),
  ];
}

async function writeWatched(
  store: Store,
  name: string,
  writes: number,
  hasSlowWatcher: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const keys = new KeySet(store, name);
  const bytesBefore = await usedBytes();
  const slow = hasSlowWatcher ? store.watch({ prefix: keys.prefix }) : undefined;
  await slow?.started();
  const { finished } = await startReaders(store, keys, READERS, writes);
  let begin = 0;
  const run = await measure((): Promise<Done> => {
    begin = performance.now();
    return inFlight(writes, WRITERS, (i) => keys.create(i), { signal });
  });
  await finished;
  const deliveredPerSecond = (writes * READERS * 1000) / (performance.now() - begin);
  const grownMb = ((await usedBytes()) - bytesBefore) / MB;
  if (!slow) return { writes: run, deliveredPerSecond, grownMb, caughtUpPerSecond: 0 };

  const lateBegin = performance.now();
  let seen = 0;
  for await (const batch of slow) {
    seen += batch.events.length;
    if (seen >= writes) break;
  }
  const caughtUpPerSecond = (seen * 1000) / (performance.now() - lateBegin);
  if (seen !== writes) throw new Error(`Cannot count on a slow watch: it delivered ${seen} of ${writes} events`);
  return { writes: run, deliveredPerSecond, grownMb, caughtUpPerSecond };
}

async function usedBytes(): Promise<number> {
  // Buffers are given back beside the collection; only the next one knows.
  for (let i = 0; i < 2; i++) {
    globalThis.gc?.();
    await sleep(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
