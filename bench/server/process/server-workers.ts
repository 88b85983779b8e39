/**
 * Two workers against one thread: the same work on two servers, each with pods of its own. Fan-out of a stream of updates to a
 * thousand watchers with a connection each; LISTs of 10,000 pods at eight in flight; creates at 32 in flight.
 *
 * CPU is of all threads of a server together, per operation: what having threads costs. What it brings is told by the thread
 * that works most: as long as there is a core for each, so many operations a second as that thread has time for. The load
 * generator has no part in this, while the rate by the clock is that of the machine that was there, with the load generator on
 * the same cores. Connections are many, and take their turns: a server cannot work on both threads for clients of one.
 */
import { type Done, interleave } from '../../lib/measure.ts';
import { MeasuredProcess, type Phase } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { ClientPool, type Endpoint } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, newPod, PODS, type PodData, preparePods } from '../load/server-data.ts';
import { makeUpdate, type Update } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverWorkers: ServerBenchmark = { name: 'server-workers', limitSeconds: { usual: 300, whole: 600 }, run };

const WORKERS = 2;
const AHEAD = 8;
const IN_FLIGHT = 32;
const sides = ['workers', 'single'] as const;
type Side = (typeof sides)[number];

type Contestant = {
  readonly process: MeasuredProcess;
  readonly endpoint: Endpoint;
  readonly data: PodData;
  readonly update: Update;
};

const CONNECTIONS = 128;
/** Each worker compiles its code for itself: a server that has been there for a while is what is measured. */
const WARM = 3;
const WARM_CREATES = 6000;

/** Against one thread: what CPU per operation may come to, and the rate, where there is a core for each thread. */
type Goals = { readonly cpu?: number; readonly rate: number };

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const pods = isQuick ? 2000 : 10_000;
  const rounds = isQuick ? 2 : 4;
  const limitMs = isQuick ? 6000 : 20_000;
  await using workers = await start(context, pods, WORKERS);
  await using single = await start(context, pods, 0);
  const both = { workers, single };
  const rows: ServerRow[] = [];
  const compare = async (
    what: string,
    goals: Goals,
    work: (pool: ClientPool, side: Side) => Promise<Done>,
    warm = WARM,
  ) => {
    say(`workers: ${what}`);
    for (const side of sides) {
      using pool = await ClientPool.openSpread(both[side].endpoint, CONNECTIONS);
      for (let i = 0; i < warm; i++) await work(pool, side);
    }
    const phase = async (side: Side) => {
      using pool = await ClientPool.openSpread(both[side].endpoint, CONNECTIONS); // none is idle for long
      return await both[side].process.measure(`${what} ${side}`, () => work(pool, side));
    };
    const found = await interleave(rounds, sides, phase, limitMs);
    rows.push(...rowsOf(what, goals, found));
  };

  const watchers = isQuick ? 500 : 1000;
  const updates = isQuick ? 40 : 160;
  using ofWorkers = await open(workers, watchers);
  using ofSingle = await open(single, watchers);
  const audiences = { workers: ofWorkers, single: ofSingle };
  await compare(`fan-out to ${watchers}, ${AHEAD} ahead`, { cpu: 1.15, rate: 1.7 }, async (pool, side) => {
    const audience = audiences[side];
    const before = audience.total;
    for (let n = 0; n < updates; n += AHEAD) {
      await pool.run(AHEAD, AHEAD, (client, i) => both[side].update(client, (n + i) % pods), { signal });
      await audience.reached(before + (n + AHEAD) * watchers);
    }
    return { operations: updates * watchers, latenciesMs: [] };
  });
  const lists = isQuick ? 16 : 32;
  await compare(`LIST of ${pods} pods at ${AHEAD}`, { rate: 1.7 }, async (pool) => {
    return await pool.run(lists, AHEAD, (client) => client.must('GET', PODS), { signal });
  });
  let made = 0;
  const creates = isQuick ? 400 : 1500;
  await compare(
    `create at ${IN_FLIGHT}`,
    { rate: 1.5 },
    async (pool) => {
      const first = made;
      made += creates;
      // Where nobody watches.
      const path = PODS.replace('/default/', '/kube-public/');
      const create = (n: number) =>
        Buffer.from(
          newPod(`new-${first + n}`)
            .toString()
            .replace('"namespace":"default"', '"namespace":"kube-public"'),
        );
      return await pool.run(creates, IN_FLIGHT, (client, n) => client.must('POST', path, create(n)), { signal });
    },
    WARM_CREATES / creates,
  );
  return rows;
}

function rowsOf(what: string, { cpu, rate }: Goals, { workers, single }: Record<Side, Phase[]>): ServerRow[] {
  const against = (pick: (phase: Phase) => number) => workers.map((phase, i) => pick(phase) / pick(single[i]!));
  const least = (phases: readonly Phase[], pick: (phase: Phase) => number) => Math.min(...phases.map(pick)).toFixed(1);
  const compared = (pick: (phase: Phase) => number) => `${least(workers, pick)} against ${least(single, pick)} µs`;
  const ofAll = ({ cpuMicrosPerOperation }: Phase) => cpuMicrosPerOperation;
  const ofBusiest = ({ busiestMicrosPerOperation = Number.NaN }: Phase) => busiestMicrosPerOperation;
  return [
    valueRow(`${what}: CPU, ${WORKERS} workers to 1 thread`, '×', against(ofAll), {
      ...(cpu !== undefined && { target: { value: cpu } }),
      note: compared(ofAll),
    }),
    valueRow(
      `${what}: rate that the busiest thread has time for, the same`,
      '×',
      against((phase) => 1 / ofBusiest(phase)),
      { better: 'higher', target: { value: rate }, note: `it takes ${compared(ofBusiest)}` },
    ),
    valueRow(
      `${what}: rate by the clock, the same`,
      '×',
      against(({ perSecond }) => perSecond),
      { better: 'higher', note: 'with the load generator on the same cores' },
    ),
  ];
}

async function start(context: ServerContext, pods: number, workers: number): Promise<Contestant & AsyncDisposable> {
  const data = await preparePods(context, pods, GROUPS);
  const process = await MeasuredProcess.startServerWith(context, { dataDir: data.dataDir, workers });
  const endpoint = endpointOf(process, data.dataDir);
  const update = await makeUpdate(context, data, GROUPS);
  return { process, endpoint, data, update, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

async function open({ endpoint }: Contestant, size: number): Promise<Watchers> {
  const path = `${PODS}?watch=1&resourceVersion=${await newestVersion(endpoint)}`;
  return Watchers.overHttp1(
    endpoint,
    Array.from({ length: size }, () => path),
  );
}
