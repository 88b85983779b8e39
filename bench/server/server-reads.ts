/**
 * Reads of single objects: GET of a pod at 32 in flight, consistent and as the cache has it. Bare Node answers with an object
 * of the same length, from memory, over the same TLS and the same version of HTTP. And GETs one at a time while others list.
 */
import { type Done, interleave, median } from '../lib/measure.ts';
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../lib/server-report.ts';
import { type Client, ClientPool } from './server-client.ts';
import { GROUPS, PODS, podName, preparePods } from './server-data.ts';
import { type ContestantName, contestants, startPair } from './server-pair.ts';

export const serverReads: ServerBenchmark = { name: 'server-reads', run };

const WIDTH = 32;
const PODS_THERE = 1000;
/** Requests that a process needs until its code is compiled. */
const WARM = 10_000;
/** A GET may cost twice what bare Node needs for it. */
const BARE_SHARE = 0.5;
const LISTERS = 8;
const MOST_SLOWER = 3;

type Work = Readonly<Record<ContestantName, (client: Client, i: number) => Promise<unknown>>>;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const rounds = isQuick ? 3 : 5;
  const limitMs = isQuick ? 6000 : 12_000;
  const count = isQuick ? 4000 : 8000;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using pair = await startPair(context, data);
  using server = await ClientPool.open(pair.server.endpoint, WIDTH);
  using bare = await ClientPool.open(pair.bare.endpoint, WIDTH);
  const pools = { server, bare };
  const get = (query: string): Work => ({
    server: (client, i) => client.must('GET', `${PODS}/${podName(i % PODS_THERE)}${query}`),
    bare: (client) => client.must('GET', '/object'),
  });
  const row = async (what: string, work: Work) => {
    say(what);
    const once = (name: ContestantName) => {
      const phase = (): Promise<Done> => pools[name].run(count, WIDTH, work[name], { signal, limitMs });
      return pair[name].process.measure(`${what} ${name}`, phase);
    };
    const phases = await interleave(rounds, contestants, once, limitMs);
    return phaseRow(what, 'per CPU-s', phases, perCpuSecond, { better: 'higher', target: { ratio: BARE_SHARE } });
  };
  for (const name of contestants) await pools[name].run(WARM, WIDTH, get('')[name], { signal });
  const rows = [
    await row('get pod, consistent, 32 in flight', get('')),
    await row('get pod, resourceVersion=0, 32 in flight', get('?resourceVersion=0')),
  ];
  say(`get pod, alone and while ${LISTERS} list`);
  using listers = await ClientPool.open(pair.server.endpoint, LISTERS);
  const gets = () => server.run(count / 8, 1, get('').server, { signal, limitMs });
  const kinds = {
    alone: gets,
    listing: async () => {
      let isOver = false;
      const until = () => isOver;
      const listing = listers.run(Number.MAX_SAFE_INTEGER, LISTERS, (client) => client.must('GET', PODS), {
        signal,
        until,
      });
      const done = await gets();
      isOver = true;
      await listing;
      return done;
    },
  };
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  const measured = (kind: keyof typeof kinds) => pair.server.process.measure(`get ${kind}`, kinds[kind]);
  const { alone, listing } = await interleave(rounds, names, measured, limitMs);
  const aloneMs = median(alone.map(({ p99Ms }) => p99Ms));
  return [
    ...rows,
    phaseRow(
      `get pod while ${LISTERS} list, p99 to that alone`,
      '×',
      { server: listing },
      ({ p99Ms }) => p99Ms / aloneMs,
      {
        target: { value: MOST_SLOWER },
        note: `alone ${aloneMs.toFixed(1)} ms; the client's work for the lists is in it`,
      },
    ),
  ];
}
