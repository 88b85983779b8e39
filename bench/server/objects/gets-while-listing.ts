/**
 * GETs one at a time, on the server while it is quiet and while eight clients list 10,000 pods again and again.
 *
 * Those who list are a process of their own. The quiet server has the same process beside it, which then lists from bare
 * Node: the machine is as busy in both cases, and what differs is who sends the lists. Rounds take turns. By the clock, the
 * scheduler of a machine with few cores is in both figures; CPU of the server before the answer leaves it out.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AnswerTrace, cpuBeforeAnswers, systemMs } from '../../lib/answer-trace.ts';
import { forkBuilt } from '../../lib/fork-built.ts';
import { interleave, median, percentile } from '../../lib/measure.ts';
import { type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { Client, type Endpoint } from '../load/server-client.ts';
import { GROUPS, PODS, podName, preparePods } from '../load/server-data.ts';
import { type Pair, startPair } from '../load/server-pair.ts';

const PODS_THERE = 10_000;
const LISTERS = 8;
const MOST_SLOWER = 3;
/** Between two GETs, at most: they are to come at any moment. */
const MOST_PAUSE_MS = 8;
const MARK = podName(42);

type Round = { readonly p99Ms: number; readonly p99CpuMs: number };

export async function getsWhileListing(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const roundMs = isQuick ? 2000 : 5000;
  const rounds = isQuick ? 3 : 5;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using pair = await startPair(context, data);
  const where = {
    quiet: { endpoint: pair.bare.endpoint, path: '/list' },
    listing: { endpoint: pair.server.endpoint, path: PODS },
  };
  const round = async (name: keyof typeof where) => {
    using _listers = await startListing(where[name]);
    return measureGets(pair, roundMs);
  };
  say(`get pod, quiet and while ${LISTERS} list`);
  for (const name of ['quiet', 'listing'] as const) await round(name); // code is compiled after this
  const { quiet, listing } = await interleave(rounds, ['quiet', 'listing'] as const, round);
  const row = (what: string, pick: (one: Round) => number) => {
    const quietMs = median(quiet.map(pick));
    const listingMs = median(listing.map(pick));
    return valueRow(
      `get pod while ${LISTERS} list, p99 ${what} to a quiet server`,
      '×',
      listing.map((one) => pick(one) / quietMs),
      {
        target: { value: MOST_SLOWER },
        note: `${listingMs.toFixed(1)} ms; quiet ${quietMs.toFixed(1)} ms, beside as many lists of bare Node`,
      },
    );
  };
  return [
    row("of the server's CPU before the answer", ({ p99CpuMs }) => p99CpuMs),
    row('by the clock', ({ p99Ms }) => p99Ms),
  ];
}

async function startListing(from: { endpoint: Endpoint; path: string }): Promise<Disposable> {
  const child = forkBuilt(new URL('../load/list-child.ts', import.meta.url), [
    JSON.stringify({ ...from, width: LISTERS }),
  ]);
  await once(child, 'message');
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

async function measureGets({ server }: Pair, forMs: number): Promise<Round> {
  const client = await Client.open(server.endpoint);
  const sentAtMs: number[] = [];
  const latenciesMs: number[] = [];
  await server.process.ask({ kind: 'trace', mark: MARK });
  for (const untilMs = systemMs() + forMs; systemMs() < untilMs; ) {
    await sleep(Math.random() * MOST_PAUSE_MS);
    const atMs = systemMs();
    await client.must('GET', `${PODS}/${MARK}`);
    latenciesMs.push(systemMs() - atMs);
    sentAtMs.push(atMs);
  }
  const trace = await server.process.ask<AnswerTrace>({ kind: 'traced' });
  client.close();
  return { p99Ms: p99Of(latenciesMs), p99CpuMs: p99Of(cpuBeforeAnswers(trace, sentAtMs)) };
}

function p99Of(values: readonly number[]): number {
  return percentile(
    [...values].sort((a, b) => a - b),
    99,
  );
}
