/**
 * `npm run bench -- [--quick] [--whole] [--nodes N] [--seconds N] [--json] [--profile FOLDER] [NAME...]`: runs all benchmarks or the
 * named ones; `store`, `server` and `client` name all of their kind; `--nodes` and `--seconds` are those of `cluster`. `incumbent-faults`, alone, asks what informers do when something fails.
 *
 * A target that is missed is a figure in the table, not a failure; the exit code tells only whether everything could
 * be measured. What is going on goes to stderr, results go to stdout.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { etcdVersion } from '../test/support/etcd-server.ts';
import { type ClientBenchmark, type JudgedClientRow, judgeClient, printClientTable } from './client/client-report.ts';
import { clientSlowHandler } from './client/client-slow-handler.ts';
import { clientStream } from './client/client-stream.ts';
import { clientSync } from './client/client-sync.ts';
import { queueBenchmark } from './client/queue.ts';
import { printIncumbentFaults } from './incumbent/incumbent-faults.ts';
import { runBounded } from './lib/bounded.ts';
import type { Benchmark } from './lib/contenders.ts';
import { type Judged, judge, printTables } from './lib/report.ts';
import {
  type JudgedServerRow,
  judgeServer,
  printServerTables,
  type ServerBenchmark,
  type TimeLimit,
} from './lib/server-report.ts';
import { cluster } from './server/cluster/cluster.ts';
import { flowControlCost } from './server/handler-chain/flow-control-cost.ts';
import { rbacDecisions } from './server/handler-chain/rbac.ts';
import { serverAdmission } from './server/handler-chain/server-admission.ts';
import { serverConflicts } from './server/objects/server-conflicts.ts';
import { serverLists } from './server/objects/server-lists.ts';
import { serverLoneUpdates } from './server/objects/server-lone-updates.ts';
import { serverReads } from './server/objects/server-reads.ts';
import { serverWrites } from './server/objects/server-writes.ts';
import { serverMemory } from './server/process/server-memory.ts';
import { serverStart } from './server/process/server-start.ts';
import { serverWorkers } from './server/process/server-workers.ts';
import { serverWorkersMemory } from './server/process/server-workers-memory.ts';
import { storm } from './server/process/storm.ts';
import { testServer } from './server/process/test-server.ts';
import { serverEventOrder } from './server/watches/server-event-order.ts';
import { serverFanOut } from './server/watches/server-fan-out.ts';
import { serverLooking } from './server/watches/server-looking.ts';
import { serverNodeWatches } from './server/watches/server-node-watches.ts';
import { serverResume } from './server/watches/server-resume.ts';
import { storeCompaction } from './store/store-compaction.ts';
import { storeOpen } from './store/store-open.ts';
import { storeReads } from './store/store-reads.ts';
import { storeRewriting } from './store/store-rewriting.ts';
import { storeSlowWatcher } from './store/store-slow-watcher.ts';
import { storeWatches } from './store/store-watches.ts';
import { storeWrites } from './store/store-writes.ts';

const storeBenchmarks: readonly Benchmark[] = [
  ...[
    storeWrites,
    storeReads,
    storeWatches,
    storeSlowWatcher,
    storeOpen,
    storeCompaction,
    storeRewriting,
    rbacDecisions,
  ],
];
const serverBenchmarks: readonly ServerBenchmark[] = [
  ...[
    serverWrites,
    serverReads,
    serverConflicts,
    serverLoneUpdates,
    serverLists,
    serverFanOut,
    serverEventOrder,
    serverNodeWatches,
    serverResume,
    serverMemory,
    serverStart,
  ],
  ...[flowControlCost, storm, cluster, serverAdmission, serverLooking, serverWorkers, serverWorkersMemory, testServer],
];
const clientBenchmarks: readonly ClientBenchmark[] = [clientSync, clientStream, clientSlowHandler, queueBenchmark];
const MOST_COUNTED = { nodes: 10_000, seconds: 900 };
const LIMIT_SECONDS: TimeLimit = { usual: 120, whole: 600 };
/** Of statfs(2): file systems that live in memory, where a flush costs nothing. */
const memoryFileSystems: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);

const { values: flags, positionals: names } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
    nodes: { type: 'string' },
    seconds: { type: 'string' },
    json: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
  allowPositionals: true,
});
const say = (text: string) => console.error(text);
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stop.abort(new Error(`Cannot finish: ${name} was received`)));

// A promise that nobody settles any more ends the program without a word.
process.on('exit', (code) => {
  if (code === 13) console.error('Cannot finish: what is waited for will never come');
});

try {
  await main();
} catch (err) {
  console.error(err);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  if (names.join() === 'incumbent-faults') return printIncumbentFaults(flags.json); // answers, not figures
  const chosen = chosenNames();
  const etcd = etcdVersion();
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-bench-'));
  const warnings = [
    ...warnAboutDisk(folder),
    ...(etcd ? [] : ['There is no etcd on the PATH: its columns stay empty']),
  ];
  const machine = {
    date: new Date().toISOString(),
    node: process.version,
    etcd,
    cpu: `${cpus().length} × ${cpus()[0]?.model}`,
    load: loadavg()[0]!.toFixed(1),
    isQuick: flags.quick,
    warnings,
  };
  for (const warning of warnings) say(warning);
  const begin = performance.now();
  const rows: Judged[] = [];
  const serverRows: JudgedServerRow[] = [];
  const clientRows: JudgedClientRow[] = [];
  const size = { nodes: countFlag('nodes'), seconds: countFlag('seconds') };
  const context = { isQuick: flags.quick, isWhole: flags.whole, size, hasEtcd: etcd !== undefined, folder, say };
  const profileFolder = flags.profile;
  try {
    for (const benchmark of storeBenchmarks)
      if (chosen.has(benchmark.name))
        await bounded(benchmark, async (signal) => add(rows, await benchmark.run({ ...context, signal }), judge));
    for (const benchmark of serverBenchmarks)
      if (chosen.has(benchmark.name))
        await bounded(benchmark, async (signal) =>
          add(serverRows, await benchmark.run({ ...context, signal, profileFolder }), judgeServer),
        );
    for (const benchmark of clientBenchmarks)
      if (chosen.has(benchmark.name))
        await bounded(benchmark, async (signal) =>
          add(clientRows, await benchmark.run({ ...context, signal, profileFolder }), judgeClient),
        );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = Math.round((performance.now() - begin) / 1000);
  if (flags.json) {
    console.log(JSON.stringify({ ...machine, seconds, rows, serverRows, clientRows }, undefined, 2));
    return;
  }
  const { date, node, cpu, load } = machine;
  console.log(
    `${date}, Node ${node}, ${etcd ? `etcd ${etcd}` : 'no etcd'}, ${cpu}, load ${load} before, took ${seconds} s`,
  );
  for (const warning of warnings) console.log(warning);
  console.log('\nBest round (median round); ratio of the best (of the medians)\n');
  if (rows.length > 0) printTables(rows);
  if (serverRows.length > 0) printServerTables(serverRows);
  if (clientRows.length > 0) printClientTable(clientRows);
}

/** No benchmark runs for longer than its limit. One that fails is told of, and leaves the others their turn. */
async function bounded(
  { name, limitSeconds }: { name: string; limitSeconds?: TimeLimit },
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { usual, whole } = limitSeconds ?? LIMIT_SECONDS;
  const limitMs = 1000 * (flags.whole || flags.nodes || flags.seconds ? whole : usual);
  try {
    await runBounded(name, { limitMs, signal: stop.signal }, run);
  } catch (err) {
    stop.signal.throwIfAborted();
    console.error(err);
    process.exitCode = 1;
  }
}

function add<From, To>(rows: To[], found: readonly From[], judged: (row: From) => To): void {
  rows.push(...found.map(judged));
}

function countFlag(name: 'nodes' | 'seconds'): number | undefined {
  const text = flags[name];
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MOST_COUNTED[name])
    throw new Error(`Cannot take --${name} ${JSON.stringify(text)}: it is a number from 1 to ${MOST_COUNTED[name]}`);
  return count;
}

function chosenNames(): ReadonlySet<string> {
  const kinds = {
    store: storeBenchmarks.map(({ name }) => name),
    server: serverBenchmarks.map(({ name }) => name),
    client: clientBenchmarks.map(({ name }) => name),
  };
  const known = [...kinds.store, ...kinds.server, ...kinds.client];
  if (names.length === 0) return new Set(known);
  const unknown = names.find((name) => !known.includes(name) && !(name in kinds));
  if (unknown !== undefined)
    throw new Error(`Cannot run ${JSON.stringify(unknown)}: there are store, server, client, ${known.join(', ')}`);
  return new Set(names.flatMap((name) => kinds[name as keyof typeof kinds] ?? [name]));
}

function warnAboutDisk(folder: string): string[] {
  const kind = memoryFileSystems.get(statfsSync(folder).type >>> 0);
  if (!kind) return [];
  return [`${JSON.stringify(folder)} is on ${kind}: a flush costs nothing there. Set TMPDIR to a folder on a disk`];
}
