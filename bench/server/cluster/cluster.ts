/**
 * The API load of a cluster: hollow nodes with their kubelets and proxies, ten controllers, pods that come and go, against one server.
 * 500 nodes for a minute unless `--whole` is said, 5,000 for five, or how many and how long; 20 pods to a node.
 *
 * The load comes from a process of its own; what it says of latencies includes its own, which is a row. Everybody is whom they are on
 * a cluster by impersonation, and may do everything: rights are measured elsewhere.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../../../test/support/victim/process-meter.ts';
import {
  type ClusterShape,
  CONTROLLERS,
  type LoadOrder,
  type LoadReport,
  type Percentiles,
  shapeFor,
  type Unit,
  type UnitsDone,
} from '../../lib/cluster-shape.ts';
import { forkBuilt } from '../../lib/fork-built.ts';
import type { Memory, Usage } from '../../lib/server-control.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { endpointOf, newestVersion, preparePods } from '../load/server-data.ts';

export const cluster: ServerBenchmark = { name: 'cluster', run, limitSeconds: { usual: 600, whole: 1800 } };

const LOOK_MS = 5000;
const MIB = 1024 * 1024;
const GOAL_MS = 100;
const UNITS = 100;
const LONG_SECONDS = 600;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const shape = shapeFor(context.isWhole, context.isQuick, context.size);
  const empty = await emptyMemory(context);
  const { dataDir } = await preparePods(context, shape.pods, shape.nodes);
  const options = { dataDir, authorizationMode: 'AlwaysAllow' } as const;
  await using server = await MeasuredProcess.startServerWith(context, options);
  const endpoint = endpointOf(server, dataDir);
  await newestVersion(endpoint); // its caches are filled then
  const alone = await server.memory();
  using load = await Load.start(context.signal);
  context.say(`cluster: ${shape.nodes} nodes and ${CONTROLLERS} controllers connect`);
  await load.ask({ kind: 'connect', endpoint, shape });
  const connected = await server.memory();
  await load.ask({ kind: 'load' });
  const end = await server.begin('cluster');
  let seen: LoadReport;
  let peakBytes = 0;
  let half: Memory | undefined;
  do {
    await sleep(LOOK_MS, undefined, { signal: context.signal });
    seen = await load.ask<LoadReport>({ kind: 'look' });
    const { nowBytes } = memoryOf(server.pid);
    peakBytes = Math.max(peakBytes, nowBytes);
    context.say(progress(seen, shape, nowBytes));
    if (shape.seconds >= LONG_SECONDS && seen.seconds >= shape.seconds / 2) half ??= await server.memory();
  } while (!seen.isOver);
  const usage = await end();
  const after = await server.memory();
  context.say('cluster: what one renewal, one pod and one slice take');
  const units = await unitRows(server, load, shape);
  return [...rowsOf(shape, seen, usage, { empty, alone, connected, half, after, peakBytes }), ...units];
}

/** Of each part of the load by itself: what the arithmetic of docs/scale.md is fed with. */
async function unitRows(server: MeasuredProcess, load: Load, { nodes }: ClusterShape): Promise<ServerRow[]> {
  const cost = async (of: Unit, count: number) => {
    await server.ask({ kind: 'begin' });
    const { done, events, eventBytes } = await load.ask<UnitsDone>({ kind: 'units', of, count });
    const { cpuMicros } = await server.ask<Usage>({ kind: 'end' });
    return { micros: cpuMicros / done, events: events / done, bytes: eventBytes / Math.max(1, events) };
  };
  await cost('lease', UNITS);
  const lease = await cost('lease', 4 * UNITS);
  const pod = await cost('pod', UNITS);
  const slice = await cost('slice', UNITS);
  const row = (what: string, unit: string, value: number) => valueRow(`cluster: ${what}`, unit, [value]);
  return [
    row('renewal of a lease', 'CPU µs', lease.micros),
    row('life of a pod', 'CPU µs', pod.micros),
    row('write of a slice', 'CPU µs', slice.micros),
    row('events of a slice', '', slice.events),
    row('event of a slice', 'CPU µs', Math.max(0, slice.micros - lease.micros) / Math.max(nodes, slice.events)),
    row('event of a slice', 'bytes', slice.bytes),
  ];
}

/** Of a server with nothing to serve. */
async function emptyMemory(context: ServerContext): Promise<Memory> {
  const { dataDir } = await preparePods(context, 1, 1);
  await using server = await MeasuredProcess.startServer(context, dataDir);
  await newestVersion(endpointOf(server, dataDir));
  return await server.memory(); // before the server is stopped
}

type Memories = {
  readonly empty: Memory;
  readonly alone: Memory;
  readonly connected: Memory;
  readonly half: Memory | undefined;
  readonly after: Memory;
  readonly peakBytes: number;
};

function rowsOf(shape: ClusterShape, seen: LoadReport, { cpuMicros, loop }: Usage, memory: Memories): ServerRow[] {
  const { nodes, pods } = shape;
  const { seconds } = seen;
  const row = (what: string, unit: string, value: number, goal?: number) =>
    valueRow(`cluster: ${what}`, unit, [value], goal === undefined ? {} : { target: { value: goal } });
  const latency = (what: string, { count, p50Ms, p99Ms, maxMs }: Percentiles, goal?: number) => [
    row(`${what} a second`, '', count / seconds),
    row(`${what}, p50`, 'ms', p50Ms),
    row(`${what}, p99`, 'ms', p99Ms, goal),
    row(`${what}, worst`, 'ms', maxMs),
  ];
  return [
    row('nodes', '', nodes),
    row('pods', '', pods),
    row('watches', '', seen.openWatches),
    row('seconds', '', seconds),
    ...latency('writes', seen.writes, GOAL_MS),
    ...latency('lease renewals', seen.leases),
    ...latency('writes of pods', seen.podWrites),
    ...latency('writes of slices', seen.sliceWrites),
    ...latency('reads', seen.reads),
    row('events delivered a second', '', seen.events / seconds),
    row('bytes of events a second', 'MiB', seen.eventBytes / seconds / MIB),
    row('event after its write left, p50', 'ms', seen.eventLatency.p50Ms),
    row('event after its write left, p99', 'ms', seen.eventLatency.p99Ms, GOAL_MS),
    row('event after its write left, worst', 'ms', seen.eventLatency.maxMs),
    row('delay of the load generator itself, p99', 'ms', seen.ownDelayP99Ms),
    row('CPU of the load generator', 'cores', seen.ownCpuMicros / 1e6 / seconds),
    row('delay of the event loop, p99', 'ms', loop.p99Ms),
    row('CPU of the server', 'cores', cpuMicros / 1e6 / seconds),
    row('memory of an empty server', 'MiB', memory.empty.rssBytes / MIB),
    row('memory with the pods alone', 'MiB', memory.alone.rssBytes / MIB),
    row('memory with everybody connected', 'MiB', memory.connected.rssBytes / MIB),
    ...(memory.half ? heldRows('half way', memory.half) : []),
    row('memory at the end', 'MiB', memory.after.rssBytes / MIB),
    ...(memory.half ? heldRows('at the end', memory.after) : []),
    row('most memory', 'MiB', memory.peakBytes / MIB),
    row('requests refused', '', seen.refused),
    row('requests failed', '', seen.failed),
    row('410s', '', seen.goneErrors),
    row('watches cut off', '', seen.cutOff),
  ];
}

/** Of a long run: the history that the store keeps has come to its length half way, so from there on memory is level. */
function heldRows(when: string, { rssBytes, ownBytes, heapBytes, bufferBytes }: Memory): ServerRow[] {
  const row = (what: string, bytes: number) => valueRow(`cluster: ${what} ${when}`, 'MiB', [bytes / MIB]);
  return [
    row('memory held', rssBytes),
    row('memory without mapped files', ownBytes),
    row('heap', heapBytes),
    row('buffers', bufferBytes),
  ];
}

function progress(seen: LoadReport, { seconds }: ClusterShape, nowBytes: number): string {
  const perSecond = (count: number) => Math.round(count / seen.seconds);
  const ms = ({ p99Ms }: Percentiles) => `p99 ${p99Ms.toFixed(0)} ms`;
  return [
    `cluster: ${Math.round(seen.seconds)} of ${seconds} s`,
    `${perSecond(seen.writes.count)} writes/s ${ms(seen.writes)}`,
    `${perSecond(seen.events)} events/s ${ms(seen.eventLatency)}`,
    `${Math.round(nowBytes / MIB)} MiB`,
    `${seen.refused} refused, ${seen.failed} failed, ${seen.cutOff} cut off`,
  ].join('; ');
}

/** The process the load comes from. */
class Load implements Disposable {
  readonly #child: ChildProcess;
  readonly #signal: AbortSignal;

  private constructor(child: ChildProcess, signal: AbortSignal) {
    this.#child = child;
    this.#signal = signal;
  }

  static async start(signal: AbortSignal): Promise<Load> {
    const load = new Load(forkBuilt(new URL('./cluster-load.ts', import.meta.url)), signal);
    await load.#answer();
    return load;
  }

  async ask<Answer>(order: LoadOrder): Promise<Answer> {
    const answer = this.#answer<Answer>();
    this.#child.send(order);
    return answer;
  }

  async #answer<Answer>(): Promise<Answer> {
    const waiting = new AbortController();
    const signal = AbortSignal.any([this.#signal, waiting.signal]);
    const gone = once(this.#child, 'exit', { signal }).then(([code]) => {
      throw new Error(`Cannot play the cluster: its process ended with ${code}`);
    });
    try {
      const [answer] = await Promise.race([once(this.#child, 'message', { signal }), gone]);
      return answer as Answer;
    } finally {
      waiting.abort();
      gone.catch(() => {});
    }
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}
