/**
 * One stream of updates, a thousand watchers that all get every event: over HTTP/1.1 with a connection each, and over
 * HTTP/2 with ten to a connection. Bare Node gets the same updates and sends one ready frame to every stream.
 *
 * One at a time: the next update is sent when all watchers have the one before, so every event is a write of its own.
 * Eight ahead: that many may be under way, and events that are ready together may share a write. At a pace: 50 updates
 * a second, whatever happens; latency is from sending the update until the watcher has the event, both measured by the
 * client, whose own work for a thousand sockets is part of it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Done, interleave } from '../../lib/measure.ts';
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../../lib/server-report.ts';
import { type Client, ClientPool } from '../load/server-client.ts';
import { GROUPS, newestVersion, PODS, preparePods } from '../load/server-data.ts';
import { type ContestantName, contestants, type Pair, startPair } from '../load/server-pair.ts';
import { makeUpdate, type Update } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverFanOut: ServerBenchmark = { name: 'server-fan-out', run };

const STREAMS = 10;
const UPDATES_PER_SECOND = 50;
const BARE_SHARE = 0.6;
const AHEAD = 8;

/** Sends one update; the pods are taken in turn. */
type Send = (client: Client, n: number) => Promise<unknown>;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const size = isQuick ? 500 : 1000;
  const updates = isQuick ? 20 : 60;
  const pacedUpdates = UPDATES_PER_SECOND * (isQuick ? 1 : 2);
  const rounds = isQuick ? 2 : 3;
  const limitMs = isQuick ? 2500 : 9000;
  const data = await preparePods(context, 1000, GROUPS);
  await using pair = await startPair(context, data);
  const update = await makeUpdate(context, data, GROUPS);
  const rows: ServerRow[] = [];
  for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
    say(`fan-out over ${protocol}: opening ${size} watches on each side`);
    using server = await openWatchers(pair, 'server', protocol, size);
    using bare = await openWatchers(pair, 'bare', protocol, size);
    const watchers = { server, bare };
    const send = { server: sendToServer(update), bare: sendToBare };
    const measured = (what: string, work: (name: ContestantName) => Promise<Done>) => {
      say(`fan-out over ${protocol}: ${what}`);
      const once = (name: ContestantName) =>
        pair[name].process.measure(`fan-out ${protocol} ${what} ${name}`, () => work(name));
      return interleave(rounds, contestants, once, limitMs);
    };
    const stream = async (name: ContestantName, width: number) => {
      using pool = await ClientPool.open(pair[name].endpoint, width);
      return await updateAndCount(pool, width, send[name], watchers[name], updates, signal);
    };
    await stream('server', 1);
    await stream('bare', 1);
    const single = await measured('one at a time', (name) => stream(name, 1));
    const ahead = isQuick ? undefined : await measured(`${AHEAD} ahead`, (name) => stream(name, AHEAD));
    const paced = await measured(`at ${UPDATES_PER_SECOND}/s`, async (name) => {
      using pool = await ClientPool.open(pair[name].endpoint, AHEAD);
      return await updateAtPace(pool, send[name], watchers[name], pacedUpdates, signal);
    });
    const to = `fan-out to ${size} over ${protocol}`;
    const more = { better: 'higher', target: { ratio: BARE_SHARE } } as const;
    rows.push(
      phaseRow(`${to}, one at a time`, 'events/CPU-s', single, perCpuSecond, more),
      ...(ahead ? [phaseRow(`${to}, ${AHEAD} ahead`, 'events/CPU-s', ahead, perCpuSecond, { better: 'higher' })] : []),
      phaseRow(`${to}, ${UPDATES_PER_SECOND}/s`, 'events/CPU-s', paced, perCpuSecond, { better: 'higher' }),
      phaseRow(`${to}, ${UPDATES_PER_SECOND}/s: p50`, 'ms', paced, ({ p50Ms }) => p50Ms),
      phaseRow(`${to}, ${UPDATES_PER_SECOND}/s: p99`, 'ms', paced, ({ p99Ms }) => p99Ms),
    );
  }
  return rows;
}

async function openWatchers(
  pair: Pair,
  name: ContestantName,
  protocol: 'HTTP/1.1' | 'HTTP/2',
  size: number,
): Promise<Watchers> {
  const { endpoint } = pair[name];
  const path = name === 'server' ? `${PODS}?watch=1&resourceVersion=${await newestVersion(endpoint)}` : '/watch';
  const paths = Array.from({ length: size }, () => path);
  return protocol === 'HTTP/1.1' ? Watchers.overHttp1(endpoint, paths) : Watchers.overHttp2(endpoint, paths, STREAMS);
}

function sendToServer(update: Update): Send {
  return (client, n) => update(client, n % 1000);
}

const bareBody = Buffer.alloc(1500, 0x20);
const sendToBare: Send = (client) => client.must('PUT', '/broadcast', bareBody);

/** At most `width` updates that not every watcher has seen; an operation is one event at one watcher. */
async function updateAndCount(
  pool: ClientPool,
  width: number,
  send: Send,
  watchers: Watchers,
  updates: number,
  signal: AbortSignal,
): Promise<Done> {
  const before = watchers.total;
  const size = watchers.counts.length;
  if (width === 1)
    for (let n = 0; n < updates; n++) {
      signal.throwIfAborted();
      await send(pool.first, n);
      await watchers.reached(before + (n + 1) * size);
    }
  else
    for (let n = 0; n < updates; n += width) {
      await pool.run(Math.min(width, updates - n), width, (client, i) => send(client, n + i), { signal });
      await watchers.reached(before + Math.min(n + width, updates) * size);
    }
  return { operations: updates * size, latenciesMs: [] };
}

async function updateAtPace(
  pool: ClientPool,
  send: Send,
  watchers: Watchers,
  updates: number,
  signal: AbortSignal,
): Promise<Done> {
  const { counts } = watchers;
  const first = Uint32Array.from(counts);
  const sentAt = new Float64Array(updates);
  const latenciesMs: number[] = [];
  watchers.onEvents((watcher, events) => {
    const now = performance.now();
    const last = counts[watcher]! - first[watcher]!;
    for (let n = last - events; n < last; n++) latenciesMs.push(now - sentAt[n]!);
  });
  const before = watchers.total;
  const begin = performance.now();
  await pool.run(
    updates,
    AHEAD,
    async (client, n) => {
      const waitMs = begin + (n * 1000) / UPDATES_PER_SECOND - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      sentAt[n] = performance.now();
      await send(client, n);
    },
    { signal },
  );
  await watchers.reached(before + updates * counts.length);
  watchers.onEvents(undefined);
  return { operations: updates * counts.length, latenciesMs };
}
