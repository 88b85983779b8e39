/**
 * What it costs the others when somebody looks: a thousand watchers get every update, in turns with nobody looking, and
 * with a watch on `watches`, as `kubectl get watches -w` opens it.
 *
 * A figure is the share that is left of the events per second of CPU, round by round: both halves of a round follow each
 * other in the same process, so a busy minute hurts both. What a watch counts of itself is in both halves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Done, interleave } from '../../lib/measure.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import {
  perCpuSecond,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
  valueRow,
} from '../../lib/server-report.ts';
import { show } from '../../lib/table.ts';
import { Client, type Endpoint } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, PODS, preparePods } from '../load/server-data.ts';
import { makeUpdate } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverLooking: ServerBenchmark = { name: 'server-looking', run };

const WATCHES = '/apis/introspection.longwatch.dev/v1alpha1/watches';
const UPDATES_PER_SECOND = 50;
const LEAST_SHARE = 0.98;
const LIMIT_MS = 50_000;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say, signal } = context;
  const size = isQuick ? 500 : 1000;
  const seconds = isQuick ? 2 : 4;
  const rounds = isQuick ? 3 : 5;
  const data = await preparePods(context, 1000, GROUPS);
  await using process = await MeasuredProcess.startServer(context, data.dataDir);
  const endpoint = endpointOf(process, data.dataDir);
  const update = await makeUpdate(context, data, GROUPS);
  say(`looking: opening ${size} watches`);
  const path = `${PODS}?watch=1&resourceVersion=${await newestVersion(endpoint)}`;
  using watchers = await Watchers.overHttp1(
    endpoint,
    Array.from({ length: size }, () => path),
  );
  const client = await Client.open(endpoint);
  const updates = seconds * UPDATES_PER_SECOND;
  const stream = async (): Promise<Done> => {
    const before = watchers.total;
    const begin = performance.now();
    for (let n = 0; n < updates; n++) {
      signal.throwIfAborted();
      const waitMs = begin + (n * 1000) / UPDATES_PER_SECOND - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      await update(client, n % 1000);
      await watchers.reached(before + (n + 1) * size);
    }
    return { operations: updates * size, latenciesMs: [] };
  };
  await stream();
  const once = async (name: 'quiet' | 'looked') => {
    say(`looking: ${name}`);
    await using _looker = name === 'looked' ? await lookOn(endpoint) : undefined;
    return process.measure(`looking ${name}`, stream);
  };
  const { quiet, looked } = await interleave(rounds, ['quiet', 'looked'] as const, once, LIMIT_MS);
  client.close();
  const shares = looked.map((phase, round) => perCpuSecond(phase) / perCpuSecond(quiet[round]!));
  const figures = [quiet, looked].map((phases) => show(Math.max(...phases.map(perCpuSecond))));
  return [
    valueRow(`fan-out to ${size}, ${UPDATES_PER_SECOND}/s: share left while somebody looks`, '×', shares, {
      better: 'higher',
      target: { value: LEAST_SHARE },
      note: `best events/CPU-s: ${figures.join(' and ')}`,
    }),
  ];
}

/** A watch on all watches, until it is let go of. */
async function lookOn(endpoint: Endpoint): Promise<AsyncDisposable> {
  const watching = await Watchers.overHttp1(endpoint, [`${WATCHES}?watch=1`]);
  return {
    async [Symbol.asyncDispose]() {
      watching[Symbol.dispose]();
    },
  };
}
