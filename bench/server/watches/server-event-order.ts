/**
 * Which comes first, the event of a write or its answer: a controller that has the answer first decides on what it has just
 * changed. One client has both, on connections of their own, over sockets that become readable in the order in which the
 * server writes to them.
 *
 * Quiet: fifty updates a second, one after the other, and one watcher. Under load: 32 updates in flight before that watcher,
 * and before a hundred, of which the one that is looked at was the last to come: where a turn of the loop has no time for all
 * of them, its event waits for the next.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Done } from '../../lib/measure.ts';
import { percentile } from '../../lib/measure.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { ClientPool, connectTls, type Endpoint, requestHead } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, PODS, preparePods } from '../load/server-data.ts';
import { makeUpdate, type Update } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverEventOrder: ServerBenchmark = { name: 'server-event-order', run };

const PODS_THERE = 1000;
const PER_SECOND = 50;
const WIDTH = 32;
const OTHER_WATCHERS = 99;
const WARM = 3000;
const EVENTS_FIRST = 0.9;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using process = await MeasuredProcess.startServer(context, data.dataDir);
  const endpoint = endpointOf(process, data.dataDir);
  using pool = await ClientPool.open(endpoint, WIDTH);
  const update = await makeUpdate(context, data, GROUPS);
  const crowded = (count: number, timed: Update) =>
    pool.run(count, WIDTH, (client, i) => timed(client, i % PODS_THERE), { signal });
  await crowded(WARM, update);

  const rounds = isQuick ? 2 : 3;
  const measured = async (work: (timed: Update) => Promise<Done>) => {
    const found: Round[] = [];
    for (let round = 0; round < rounds; round++) found.push(await eventMinusAnswer(endpoint, update, work));
    return found;
  };
  say('event or answer first: quiet');
  const alone = await measured((timed) => paced(isQuick ? 100 : 200, (i) => timed(pool.first, i), signal));
  say('event or answer first: under load');
  const count = isQuick ? 500 : 1000;
  const loaded = () => measured((timed) => crowded(count, timed));
  const loadedAlone = await loaded();
  using _others = await watchAll(endpoint, OTHER_WATCHERS);
  const loadedLast = await loaded();
  return [
    ...rowsOf(`${PER_SECOND} updates a second`, alone, EVENTS_FIRST),
    ...rowsOf(`${WIDTH} updates in flight`, loadedAlone, EVENTS_FIRST),
    ...rowsOf(`the same, the last of ${OTHER_WATCHERS + 1} watchers`, loadedLast),
  ];
}

/** Milliseconds from the answer to the event, one for each write, in order: below zero the event was first. */
type Round = readonly number[];

function rowsOf(what: string, rounds: readonly Round[], target?: number): ServerRow[] {
  const share = (round: Round) => round.filter((ms) => ms < 0).length / round.length;
  return [
    valueRow(`event before its answer, ${what}: share`, '×', rounds.map(share), {
      better: 'higher',
      ...(target !== undefined && { target: { value: target } }),
    }),
    ...[50, 90, 99].map((percent) =>
      valueRow(
        `event minus answer, ${what}: p${percent}`,
        'ms',
        rounds.map((round) => percentile(round, percent)),
      ),
    ),
  ];
}

async function eventMinusAnswer(
  endpoint: Endpoint,
  update: Update,
  work: (timed: Update) => Promise<Done>,
): Promise<Round> {
  const answeredAt = new Map<number, number>();
  using events = await watchTimes(endpoint);
  const { operations } = await work(async (client, i) => {
    const version = await update(client, i);
    answeredAt.set(version, performance.now());
    return version;
  });
  await events.seen(operations);
  return [...answeredAt].map(([version, atMs]) => events.at.get(version)! - atMs).sort((a, b) => a - b);
}

type EventTimes = Disposable & {
  /** By the version of the object: when its event came. */
  readonly at: ReadonlyMap<number, number>;
  seen(count: number): Promise<void>;
};

/** Longer than a version with its name: one may come in two parts. */
const TAIL = 64;

async function watchTimes(endpoint: Endpoint): Promise<EventTimes> {
  const path = await watchPath(endpoint);
  const socket = await connectTls(endpoint.port, 'http/1.1');
  const at = new Map<number, number>();
  let waiting: { readonly count: number; readonly resolve: () => void } | undefined;
  let rest = '';
  socket.on('data', (part: Buffer) => {
    const now = performance.now();
    const text = rest + part.toString('latin1');
    for (const [, version] of text.matchAll(/"resourceVersion":"(\d+)"/g))
      if (!at.has(Number(version))) at.set(Number(version), now);
    rest = text.slice(-TAIL);
    if (waiting && at.size >= waiting.count) waiting.resolve();
  });
  const opened = new Promise((resolve) => socket.once('data', resolve));
  socket.write(requestHead('GET', path, endpoint.token), 'latin1');
  await opened;
  return {
    at,
    seen: (count) =>
      new Promise((resolve) => {
        if (at.size >= count) resolve();
        else waiting = { count, resolve };
      }),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

async function watchAll(endpoint: Endpoint, size: number): Promise<Watchers> {
  const path = await watchPath(endpoint);
  return Watchers.overHttp1(
    endpoint,
    Array.from({ length: size }, () => path),
  );
}

async function watchPath(endpoint: Endpoint): Promise<string> {
  return `${PODS}?watch=1&resourceVersion=${await newestVersion(endpoint)}`;
}

async function paced(count: number, work: (i: number) => Promise<unknown>, signal: AbortSignal): Promise<Done> {
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, began + (i * 1000) / PER_SECOND - performance.now()), undefined, { signal });
    await work(i);
  }
  return { operations: count, latenciesMs: [] };
}
