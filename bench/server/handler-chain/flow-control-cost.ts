/**
 * What flow control costs where nobody waits: for one request by itself, in this process, all of its steps and its counting
 * in metrics; for a request over HTTP and for an event of a watch that runs, beside the same server without it.
 */
import { FlowController } from '../../../src/server/flow-control/flow-controller.ts';
import { FlowMetrics } from '../../../src/server/flow-control/flow-metrics.ts';
import { type Done, interleave } from '../../lib/measure.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { ClientPool } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, PODS, podName, preparePods } from '../load/server-data.ts';
import { makeUpdate } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const flowControlCost: ServerBenchmark = { name: 'flow-control', run };

const GOAL_MICROS = 5;
const WATCHERS = 200;
const UPDATES = 100;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const rounds = context.isQuick ? 2 : 3;
  const alone: number[] = [];
  for (let i = 0; i < rounds; i++) alone.push(await requestMicros(context.isQuick ? 50_000 : 200_000));
  const { requests, events } = await overHttp(context, rounds);
  return [
    valueRow('flow control for a request that does not wait', 'CPU µs', alone, { target: { value: GOAL_MICROS } }),
    valueRow('GET with flow control', 'CPU µs', requests.on),
    valueRow('GET without', 'CPU µs', requests.off),
    valueRow('event of a running watch with flow control', 'CPU µs', events.on),
    valueRow('event of a running watch without', 'CPU µs', events.off),
  ];
}

/** By itself: classified, estimated, let in, left, counted. */
async function requestMicros(count: number): Promise<number> {
  const now = () => performance.now() / 1000;
  const controller = new FlowController({ totalSeats: 600, observer: new FlowMetrics(600, now) });
  const path = '/api/v1/namespaces/default/pods/p';
  const request = {
    method: 'GET',
    path,
    query: new URLSearchParams(),
    user: { username: 'alice', groups: ['system:authenticated'] },
  };
  const attributes = {
    ...{ kind: 'resource', verb: 'get', group: '', version: 'v1', resource: 'pods' },
    ...{ subresource: '', namespace: 'default', name: 'p', path },
  } as Parameters<FlowController['ticketFor']>[1];
  const once = async () => {
    const ticket = controller.ticketFor(request, attributes, 15)!;
    const entered = ticket.enter();
    if (entered instanceof Promise) await entered;
    ticket.leave();
    ticket.close();
  };
  for (let i = 0; i < 10_000; i++) await once();
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await once();
  const { user, system } = process.cpuUsage(before);
  controller.close();
  return (user + system) / count;
}

type OnAndOff = { readonly on: number[]; readonly off: number[] };

async function overHttp(context: ServerContext, rounds: number): Promise<{ requests: OnAndOff; events: OnAndOff }> {
  const requests = { on: [] as number[], off: [] as number[] };
  const events = { on: [] as number[], off: [] as number[] };
  const names = ['on', 'off'] as const;
  await interleave(rounds, names, async (name) => {
    const data = await preparePods(context, 500, GROUPS);
    const options = { dataDir: data.dataDir, enablePriorityAndFairness: name === 'on' };
    await using server = await MeasuredProcess.startServerWith(context, options);
    const endpoint = endpointOf(server, data.dataDir);
    using pool = await ClientPool.open(endpoint, 8);
    const read = (count: number) =>
      pool.run(count, 8, (client, i) => client.must('GET', `${PODS}/${podName(i % 500)}`), context);
    await read(1000);
    requests[name].push((await server.measure(`reads ${name}`, () => read(4000))).cpuMicrosPerOperation);
    const path = `${PODS}?watch=1&resourceVersion=${await newestVersion(endpoint)}`;
    using watchers = await Watchers.overHttp1(
      endpoint,
      Array.from({ length: WATCHERS }, () => path),
    );
    const update = await makeUpdate(context, data, GROUPS);
    const told = async (): Promise<Done> => {
      await pool.run(UPDATES, 8, update, context);
      await watchers.reached(WATCHERS * UPDATES);
      return { operations: WATCHERS * UPDATES, latenciesMs: [0] };
    };
    events[name].push((await server.measure(`events ${name}`, told)).cpuMicrosPerOperation);
  });
  return { requests, events };
}
