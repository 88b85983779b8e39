/**
 * What an update costs while thousands watch, each another node: with 0, 500 and 5,000 watchers on servers of their own
 * that take turns. Every update is of a pod on one of the first 500 nodes, so with watchers it concerns exactly one.
 */
import { type Done, interleave, median } from '../../lib/measure.ts';
import { MeasuredProcess, type Phase } from '../../lib/server-process.ts';
import {
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
  valueRow,
} from '../../lib/server-report.ts';
import { ClientPool } from '../load/server-client.ts';
import { endpointOf, newestVersion, nodeName, PODS, preparePods } from '../load/server-data.ts';
import { makeUpdate, type Update } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverNodeWatches: ServerBenchmark = { name: 'server-node-watches', run };

const WIDTH = 8;
const STREAMS = 50;
/** How much more an update may cost with ten times the watchers: nothing, within the noise of measuring. */
const GROWTH_LIMIT = 1.1;

type Crowd = {
  readonly process: MeasuredProcess;
  readonly pool: ClientPool;
  readonly update: Update;
  readonly watchers: Watchers | undefined;
};

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const updates = isQuick ? 500 : 2000;
  const [watched, nodes] = isQuick ? [200, 2000] : [500, 5000];
  const crowds = ['0', String(watched), String(nodes)];
  await using all = new AsyncDisposables();
  const started = new Map<string, Crowd>();
  for (const crowd of crowds) {
    say(`${crowd} watchers, each of a node: opening`);
    started.set(crowd, await startCrowd(context, Number(crowd), nodes, all));
  }
  const once = async (crowd: string) => {
    const { process, pool, update, watchers } = started.get(crowd)!;
    const work = async (): Promise<Done> => {
      const before = watchers?.total ?? 0;
      const done = await pool.run(updates, WIDTH, (client, i) => update(client, i % watched), { signal });
      await watchers?.reached(before + updates);
      return done;
    };
    return process.measure(`node watches ${crowd}`, work);
  };
  for (const crowd of crowds) await once(crowd);
  say('updates before them');
  const phases = await interleave(isQuick ? 2 : 4, crowds, once, isQuick ? 4000 : 15_000);
  const micros = (phase: Phase) => phase.cpuMicrosPerOperation;
  const rows = crowds.map((crowd) =>
    phaseRow(`update before ${crowd} watchers of a node each`, 'CPU µs', { server: phases[crowd]! }, micros, {
      note: crowd === '0' ? '' : 'each concerns one watcher',
    }),
  );
  const few = median(phases[String(watched)]!.map(micros));
  const growth = phases[String(nodes)]!.map((phase) => micros(phase) / few);
  return [
    ...rows,
    valueRow(`the same, ${nodes} to ${watched} watchers`, '× CPU', growth, { target: { value: GROWTH_LIMIT } }),
  ];
}

async function startCrowd(context: ServerContext, size: number, nodes: number, all: AsyncDisposables): Promise<Crowd> {
  const data = await preparePods(context, nodes, nodes);
  const process = await MeasuredProcess.startServer(context, data.dataDir);
  all.add(() => process[Symbol.asyncDispose]());
  const endpoint = endpointOf(process, data.dataDir);
  const pool = await ClientPool.open(endpoint, WIDTH);
  all.add(() => pool[Symbol.dispose]());
  const version = await newestVersion(endpoint);
  const paths = Array.from({ length: size }, (_, i) => pathFor(i, version));
  const watchers = size === 0 ? undefined : await Watchers.overHttp2(endpoint, paths, STREAMS);
  all.add(() => watchers?.[Symbol.dispose]());
  return { process, pool, update: await makeUpdate(context, data, nodes), watchers };
}

function pathFor(node: number, version: number): string {
  return `${PODS}?watch=1&resourceVersion=${version}&fieldSelector=spec.nodeName%3D${nodeName(node)}`;
}

/** Closes what was opened, last first; Node 20 has no stack for that. */
class AsyncDisposables implements AsyncDisposable {
  readonly #closers: (() => void | Promise<void>)[] = [];

  add(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }
}
