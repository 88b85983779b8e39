/**
 * A handler that takes 1 ms for each event, before a stream of 2,000 events a second: how old an object is when it comes
 * to the local copy. The handler may lag, and events of a key may be joined before it; the copy may not.
 *
 * A handler that waits (for a timer, as others wait for a network) leaves the event loop to the reader. One that computes
 * takes it: more than a core's worth of work is asked for, and the copy must be kept true in what is left.
 */

import { interleave, median, percentile } from '../lib/measure.ts';
import type { ServerContext } from '../lib/server-report.ts';
import { kubeconfigFor, prepareCluster } from './client-data.ts';
import { startFrames } from './client-frames.ts';
import { type ClientName, type Job, runSlow, type SlowResult } from './client-jobs.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const clientSlowHandler: ClientBenchmark = { name: 'client-slow-handler', run };

const PODS = 1000;
const PER_SECOND = 2000;
/** No more than this behind, 99 times of 100. */
const LAG_MS = 100;

async function run(context: ServerContext): Promise<ClientRow[]> {
  const { isQuick, say, signal, profileFolder } = context;
  const events = PER_SECOND * (isQuick ? 1 : 3);
  const rounds = isQuick ? 1 : 2;
  const cluster = await prepareCluster(context, 0);
  const frames = { ...cluster, pods: PODS, events, perSecond: PER_SECOND };
  await using server = await startFrames(context, frames);
  const kubeconfig = kubeconfigFor(cluster, server.ready.port);
  const clients: readonly ClientName[] = ['longwatch', 'client-node'];
  const rows: ClientRow[] = [];
  for (const handler of ['waits', 'computes'] satisfies Job['handler'][]) {
    const once = (client: ClientName) => {
      say(`slow handler that ${handler}: ${client}`);
      return runSlow({ client, handler, kubeconfig, pods: PODS, events }, { signal, profileFolder });
    };
    const results = await interleave(rounds, clients, once);
    const ours = results.longwatch;
    const row = (figure: string, of: (one: SlowResult) => number, more: object = {}): ClientRow => ({
      what: `handler that ${handler} 1 ms: ${figure}`,
      unit: 'ms',
      better: 'lower',
      longwatch: ours.map(of),
      clientNode: results['client-node'].map(of),
      ...more,
    });
    const handled = Math.round((median(ours.map((one) => one.handled)) / events) * 100);
    const note = `told of ${handled} % when the last event came`;
    const lag = (percent: number) => (one: SlowResult) =>
      percentile(
        [...one.lagsMs].sort((a, b) => a - b),
        percent,
      );
    rows.push(
      row('lag of the copy, p50', lag(50)),
      row('lag of the copy, p99', lag(99), { target: { value: LAG_MS }, note }),
      row('lag of the copy at the end', ({ lagsMs }) => lagsMs[lagsMs.length - 1]!),
    );
  }
  return rows;
}
