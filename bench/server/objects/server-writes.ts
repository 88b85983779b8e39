/**
 * Writes of single objects: create at 1, 32 and 128 in flight, update and server-side apply at 32, on the embedded store with a flush before
 * every answer. Bare Node takes the same bodies and answers with an object of the same length, from memory.
 */
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../../lib/server-report.ts';
import { Contest, type Work } from '../load/server-contest.ts';
import { GROUPS, newPod, PODS, podName, preparePods } from '../load/server-data.ts';
import { makeUpdate } from '../load/server-updates.ts';

export const serverWrites: ServerBenchmark = { name: 'server-writes', run };

const MOST = 128;
const PODS_THERE = 1000;
/** Requests that a process needs until its code is compiled; before that a create costs twice as much and more. */
const WARM = 6000;
const CREATES_PER_SECOND = 3000;

/** Pods that are applied again and again; as many are there when that begins. */
const REAPPLIED = 400;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick } = context;
  const rounds = isQuick ? 2 : 3;
  const limitMs = isQuick ? 3000 : 9000;
  const roundLimitMs = isQuick ? 1000 : 2000;
  const data = await preparePods(context, PODS_THERE, GROUPS);
  await using contest = await Contest.open(context, data, MOST);
  const measured = (what: string, count: number, width: number, work: Work) =>
    contest.measured(what, count, width, work, { rounds, limitMs, roundLimitMs });

  let created = 0;
  const create: Work = {
    server: (client) => client.must('POST', PODS, newPod(`new-${digits(created++)}`)),
    bare: (client) => client.must('POST', '/object', newPod(podName(0))),
  };
  const change = await makeUpdate(context, data, GROUPS);
  const update: Work = {
    server: (client, i) => change(client, i % PODS_THERE),
    bare: (client) => client.must('PUT', '/object', newPod(podName(0))),
  };
  let applied = 0;
  const appliedTo = (name: string) => `${PODS}/${name}?fieldManager=bench`;
  const applyNew: Work = {
    server: (client) => {
      const name = `applied-${digits(applied++)}`;
      return client.must('PATCH', appliedTo(name), newPod(name));
    },
    bare: (client) => client.must('PUT', '/object', newPod(podName(0))),
  };
  /** One annotation is another one each time. */
  const applyAgain: Work = {
    server: (client, i) => {
      const name = `applied-${digits(i % REAPPLIED)}`;
      const body = newPod(name)
        .toString()
        .replace('"count-0000000"', `"count-${digits(++applied)}"`);
      return client.must('PATCH', appliedTo(name), Buffer.from(body));
    },
    bare: (client) => client.must('PUT', '/object', newPod(podName(0))),
  };
  await contest.warm(WARM, 32, create);

  const scale = isQuick ? 0.25 : 1;
  const row = async (what: string, count: number, width: number, work: Work) => {
    const phases = await measured(what, Math.round(count * scale), width, work);
    return phaseRow(what, 'per CPU-s', phases, perCpuSecond, { better: 'higher' });
  };
  const create32 = await row('create pod, 32 in flight', 4000, 32, create);
  return [
    await row('create pod, 1 in flight', 800, 1, create),
    create32,
    phaseRow('create pod, 32 in flight: rate', 'per s', create32.phases!, ({ perSecond }) => perSecond, {
      better: 'higher',
      target: { value: CREATES_PER_SECOND },
    }),
    await row('create pod, 128 in flight', 4000, MOST, create),
    await row('update pod, 32 in flight', 4000, 32, update),
    await row('apply pod that is new, 32 in flight', 2000, 32, applyNew),
    await row('apply pod again, 32 in flight', 2000, 32, applyAgain),
  ];
}

function digits(value: number): string {
  return String(value).padStart(7, '0');
}
