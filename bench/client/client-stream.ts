/**
 * A sustained watch: updates of 1.5 KB as fast as the client takes them, from a server that has them ready. Figures are
 * events per second of the client process's CPU time, all its threads.
 *
 * Watch loop against watch with a callback; informer with an index and a handler against informer with a handler; both
 * also with lazy objects, which are not decoded unless the index asks for it. The bare row is a TLS socket whose bytes are
 * only searched for newlines: what is left for any client.
 */

import { interleave } from '../lib/measure.ts';
import type { ServerContext } from '../lib/server-report.ts';
import { kubeconfigFor, prepareCluster } from './client-data.ts';
import { startFrames } from './client-frames.ts';
import { type Job, runStream, type StreamResult } from './client-jobs.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const clientStream: ClientBenchmark = { name: 'client-stream', run };

const PODS = 5000;
/** Of objects that are decoded, which JSON.parse has most of; and of lazy ones. */
const TIMES_AS_GOOD = 1.5;
const TIMES_AS_GOOD_LAZY = 3;
const MARK = 100_000;

type Contender = Pick<Job, 'client' | 'index' | 'hasHandler' | 'objects'> & { kind: 'watch' | 'informer' };

const contenders = {
  bare: { client: 'bare', kind: 'watch' },
  watch: { client: 'longwatch', kind: 'watch' },
  lazyWatch: { client: 'longwatch', kind: 'watch', objects: 'lazy' },
  otherWatch: { client: 'client-node', kind: 'watch' },
  informer: { client: 'longwatch', kind: 'informer', index: 'label', hasHandler: true },
  lazyInformer: { client: 'longwatch', kind: 'informer', index: 'label', hasHandler: true, objects: 'lazy' },
  indexed: { client: 'longwatch', kind: 'informer', index: 'label', objects: 'lazy' },
  byNode: { client: 'longwatch', kind: 'informer', index: 'node', objects: 'lazy' },
  otherInformer: { client: 'client-node', kind: 'informer', hasHandler: true },
} satisfies Record<string, Contender>;

async function run(context: ServerContext): Promise<ClientRow[]> {
  const { isQuick, say, signal, profileFolder } = context;
  const events = isQuick ? 30_000 : 60_000;
  const rounds = isQuick ? 2 : 3;
  const cluster = await prepareCluster(context, 0);
  await using server = await startFrames(context, { ...cluster, pods: PODS, events });
  const kubeconfig = kubeconfigFor(cluster, server.ready.port);
  const names = Object.keys(contenders) as (keyof typeof contenders)[];
  const once = (name: keyof typeof contenders) => {
    say(`stream of ${events} events: ${name}`);
    const job = { ...(contenders[name] as Contender), kubeconfig, pods: PODS, events, warmUp: events / 5 };
    return runStream(job, { signal, profileFolder });
  };
  const results = await interleave(rounds, names, once, 90_000);
  const of = (all: readonly StreamResult[]) => all.map(({ perCpuSecond }) => perCpuSecond);
  const row = (what: string, ours: readonly StreamResult[], other?: readonly StreamResult[], more: object = {}) =>
    ({
      what,
      unit: 'events/CPU-s',
      better: 'higher',
      longwatch: of(ours),
      ...(other && { clientNode: of(other) }),
      ...more,
    }) satisfies ClientRow;
  const { watch, lazyWatch, otherWatch, informer, lazyInformer, otherInformer, indexed, byNode, bare } = results;
  return [
    row('newlines found on a bare TLS socket', bare, undefined, { note: 'no client at all: the floor' }),
    row('watch loop', watch, otherWatch, { target: { ratio: TIMES_AS_GOOD } }),
    row('the same, lazy', lazyWatch, otherWatch, { target: { ratio: TIMES_AS_GOOD_LAZY } }),
    row('informer with an index by label and a handler', informer, otherInformer, { target: { ratio: TIMES_AS_GOOD } }),
    row('the same, lazy', lazyInformer, otherInformer, { target: { ratio: TIMES_AS_GOOD_LAZY } }),
    row('the same, lazy, without the handler', indexed, otherInformer, { target: { value: MARK } }),
    row('the same, lazy, by spec.nodeName, no handler', byNode, otherInformer, { note: 'every object is decoded' }),
  ];
}
