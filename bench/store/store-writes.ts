/**
 * Durable writes: creating keys and updating them on the condition that they are unchanged, as Kubernetes does, with
 * 1, 32 and 256 writers. With one writer it is the flush that counts, with many how many writes share one.
 */
import { type Benchmark, type ContenderName, type Context, openContenders } from '../lib/contenders.ts';
import { inFlight, interleave, measure, type Run } from '../lib/measure.ts';
import { type Row, rateRow } from '../lib/report.ts';
import { KeySet } from './workload.ts';

type Load = { readonly width: number; readonly count: number; readonly ratio: number };

const loads: readonly Load[] = [
  { width: 1, count: 600, ratio: 1 },
  { width: 32, count: 8000, ratio: 3 },
  { width: 256, count: 20_000, ratio: 5 },
];
const RUN_LIMIT_MS = 3000;

export const storeWrites: Benchmark = { name: 'writes', run };

async function run(context: Context): Promise<Row[]> {
  const { isQuick, signal, say } = context;
  await using contenders = await openContenders(context);
  for (const name of contenders.names) await new KeySet(contenders.store(name), 'warm-up').createAll(3000, signal);
  const rows: Row[] = [];
  for (const { width, count, ratio } of loads) {
    say(`writes, ${width} in flight`);
    const total = isQuick ? count / 8 : count;
    const writeOnce = async (name: ContenderName, round: number): Promise<{ create: Run; update: Run }> => {
      const keys = new KeySet(contenders.store(name), `w${width}-r${round}`);
      let created = 0;
      const create = await measure(async () => {
        const done = await inFlight(total, width, (i) => keys.create(i), { signal, limitMs: RUN_LIMIT_MS });
        created = done.operations;
        return done;
      });
      const update = await measure(() =>
        inFlight(created, width, (i) => keys.update(i), { signal, limitMs: RUN_LIMIT_MS }),
      );
      return { create, update };
    };
    const rounds = await interleave(isQuick ? 2 : 5, contenders.names, writeOnce, isQuick ? 3000 : 15_000);
    for (const kind of ['create', 'update'] as const)
      rows.push(
        rateRow(
          `${kind}, ${width} in flight`,
          'writes/s',
          { embedded: rounds.embedded.map((round) => round[kind]), etcd: rounds.etcd?.map((round) => round[kind]) },
          { target: { ratio } },
        ),
      );
  }
  return rows;
}
