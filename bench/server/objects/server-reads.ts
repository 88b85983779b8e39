/**
 * Reads of single objects: GET of a pod at 32 in flight, consistent and as the cache has it. Bare Node answers with an object
 * of the same length, from memory, over the same TLS and the same version of HTTP. And GETs one at a time while others list
 * (gets-while-listing.ts).
 */
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../../lib/server-report.ts';
import { Contest, type Work } from '../load/server-contest.ts';
import { GROUPS, PODS, podName, preparePods } from '../load/server-data.ts';
import { getsWhileListing } from './gets-while-listing.ts';

export const serverReads: ServerBenchmark = { name: 'server-reads', run };

const WIDTH = 32;
const PODS_THERE = 1000;
/** Requests that a process needs until its code is compiled. */
const WARM = 10_000;
/** A GET may cost twice what bare Node needs for it. */
const BARE_SHARE = 0.5;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick } = context;
  const rounds = isQuick ? 3 : 5;
  const limitMs = isQuick ? 6000 : 12_000;
  const count = isQuick ? 4000 : 8000;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using contest = await Contest.open(context, data, WIDTH);
  const get = (query: string): Work => ({
    server: (client, i) => client.must('GET', `${PODS}/${podName(i % PODS_THERE)}${query}`),
    bare: (client) => client.must('GET', '/object'),
  });
  const row = async (what: string, work: Work) => {
    const phases = await contest.measured(what, count, WIDTH, work, { rounds, limitMs, roundLimitMs: limitMs });
    return phaseRow(what, 'per CPU-s', phases, perCpuSecond, { better: 'higher', target: { ratio: BARE_SHARE } });
  };
  await contest.warm(WARM, WIDTH, get(''));
  const rows = [
    await row('get pod, consistent, 32 in flight', get('')),
    await row('get pod, resourceVersion=0, 32 in flight', get('?resourceVersion=0')),
  ];
  return [...rows, ...(await getsWhileListing(context))];
}
