/**
 * From nothing to a local copy of 50,000 pods, from our own server, all namespaces: an Informer with default options,
 * which asks for a stream, beside client-node's informer, which lists everything in one answer. The same in pages of
 * 500, which is what a server without watch-list gets, and with lazy objects.
 */

import { interleave, median } from '../lib/measure.ts';
import { MeasuredProcess } from '../lib/server-process.ts';
import type { ServerContext } from '../lib/server-report.ts';
import { kubeconfigFor, prepareCluster } from './client-data.ts';
import { type Job, runSync, type SyncResult } from './client-jobs.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const clientSync: ClientBenchmark = { name: 'client-sync', run };

const MB = 2 ** 20;
const TIMES_AS_GOOD = 2;
/** That anything else in the process waits for the event loop. */
const LONGEST_MS = 50;

async function run(context: ServerContext): Promise<ClientRow[]> {
  const { isQuick, say, signal, profileFolder } = context;
  const pods = isQuick ? 10_000 : 50_000;
  const rounds = isQuick ? 2 : 3;
  const cluster = await prepareCluster(context, pods);
  await using server = await MeasuredProcess.startServer(context, cluster.dataDir);
  const kubeconfig = kubeconfigFor(cluster, server.ready.port);
  const contenders: Record<string, Pick<Job, 'client' | 'fill' | 'objects'>> = {
    stream: { client: 'longwatch' },
    lazy: { client: 'longwatch', objects: 'lazy' },
    pages: { client: 'longwatch', fill: 'pages' },
    clientNode: { client: 'client-node' },
  };
  const once = (name: string) => {
    say(`sync of ${pods} pods: ${name}`);
    return runSync({ ...contenders[name]!, kubeconfig, pods }, { signal, profileFolder });
  };
  await once('pages'); // the server's first list reads everything from its store
  const results = await interleave(rounds, Object.keys(contenders), once, 60_000);
  const rowsOf = (what: string, ours: readonly SyncResult[], isJudged: boolean): ClientRow[] => {
    const target = isJudged ? { target: { ratio: TIMES_AS_GOOD } } : {};
    const row = (figure: string, unit: string, of: (one: SyncResult) => number, more: object = {}): ClientRow => {
      const clientNode = results.clientNode!.map(of);
      return { what: `${what}: ${figure}`, unit, better: 'lower', longwatch: ours.map(of), clientNode, ...more };
    };
    const base = (all: readonly SyncResult[]) => Math.round(median(all.map(({ baseBytes }) => baseBytes)) / MB);
    const note = `${base(ours)} and ${base(results.clientNode!)} MB of it before the start`;
    return [
      row('time', 's', ({ seconds }) => seconds, target),
      row('CPU', 's', ({ cpuSeconds }) => cpuSeconds),
      row('peak RSS', 'MB', ({ peakBytes }) => peakBytes / MB, { ...target, note }),
      row('heap afterwards', 'MB', ({ heapBytes }) => heapBytes / MB),
      row('longest wait of others', 'ms', ({ longestDelayMs }) => longestDelayMs, { target: { value: LONGEST_MS } }),
    ];
  };
  return [
    ...rowsOf(`sync of ${pods} pods`, results.stream!, true),
    ...rowsOf('the same, lazy', results.lazy!, false),
    ...rowsOf('the same in pages', results.pages!, false),
  ];
}
