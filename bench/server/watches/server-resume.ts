/**
 * A thousand watchers come back at once, each 200 events behind. Their connections stand already, so that handshakes do
 * not count. Bare Node answers each with the same 200 events from one buffer.
 */
import { type Done, interleave } from '../../lib/measure.ts';
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../../lib/server-report.ts';
import { ClientPool } from '../load/server-client.ts';
import { GROUPS, newestVersion, PODS, preparePods } from '../load/server-data.ts';
import { type ContestantName, contestants, startPair } from '../load/server-pair.ts';
import { makeUpdate } from '../load/server-updates.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverResume: ServerBenchmark = { name: 'server-resume', run };

const MISSED = 200;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, signal, say } = context;
  const size = isQuick ? 300 : 1000;
  const data = await preparePods(context, 1000, GROUPS);
  await using pair = await startPair(context, data, MISSED);
  const version = await newestVersion(pair.server.endpoint);
  const update = await makeUpdate(context, data, GROUPS);
  using pool = await ClientPool.open(pair.server.endpoint, 8);
  await pool.run(MISSED, 8, update, { signal });

  const path = { server: `${PODS}?watch=1&resourceVersion=${version}`, bare: '/resume' };
  const once = async (name: ContestantName) => {
    say(`resume: ${size} watchers, ${name}`);
    const waiting = await Watchers.connectHttp1(
      pair[name].endpoint,
      Array.from({ length: size }, () => path[name]),
    );
    using watchers = waiting.watchers;
    return await pair[name].process.measure(`resume ${name}`, async (): Promise<Done> => {
      const begin = performance.now();
      await waiting.ask();
      await watchers.reached(size * MISSED);
      return { operations: size * MISSED, latenciesMs: [performance.now() - begin] };
    });
  };
  const phases = await interleave(isQuick ? 1 : 3, contestants, once, isQuick ? 5000 : 25_000);
  const what = `${size} watchers resume, ${MISSED} events behind`;
  return [
    phaseRow(what, 'events/CPU-s', phases, perCpuSecond, { better: 'higher' }),
    phaseRow(`${what}: all caught up after`, 's', phases, ({ p50Ms }) => p50Ms / 1000),
  ];
}
