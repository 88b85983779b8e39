/**
 * A sustained watch: updates as fast as the client takes them, from a server that has them ready. Figures are events per
 * second of the client process's CPU time, all its threads.
 *
 * Watch loop against watch with a callback; informer with an index and a handler against informer with a handler; both
 * also with lazy objects, which are not decoded unless the index asks for it. The bare row is a TLS socket whose bytes are
 * only searched for newlines: what is left for any client. These with pods of 1.5 KB of which nothing but the version is
 * read; the same with pods as API servers serve them, with managed fields, for those who read what handlers read, for those
 * who keep lazy objects and read a label, and for those who read all.
 */

import { interleave } from '../lib/measure.ts';
import type { ServerContext } from '../lib/server-report.ts';
import { kubeconfigFor, prepareCluster } from './client-data.ts';
import { startFrames } from './client-frames.ts';
import { type Job, runStream } from './client-jobs.ts';
import type { ClientBenchmark, ClientRow } from './client-report.ts';

export const clientStream: ClientBenchmark = { name: 'client-stream', run };

const PODS = 5000;
/** Of objects that are decoded, which JSON.parse has most of; and of lazy ones. */
const TIMES_AS_GOOD = 1.5;
const TIMES_AS_GOOD_LAZY = 3;
const MARK = 100_000;

type Contender = Pick<Job, 'client' | 'index' | 'hasHandler' | 'objects' | 'reads'> & { kind: 'watch' | 'informer' };

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

/** Of pods with managed fields. */
const managed = {
  watch: { ...contenders.watch, reads: 'usual' },
  otherWatch: { ...contenders.otherWatch, reads: 'usual' },
  informer: { ...contenders.informer, reads: 'usual' },
  otherInformer: { ...contenders.otherInformer, reads: 'usual' },
  lazyWatch: { ...contenders.lazyWatch, reads: 'label' },
  lazyInformer: { ...contenders.lazyInformer, reads: 'label' },
  informerOfAll: { ...contenders.informer, reads: 'all' },
  otherInformerOfAll: { ...contenders.otherInformer, reads: 'all' },
} satisfies Record<string, Contender>;

async function run(context: ServerContext): Promise<ClientRow[]> {
  const small = await compared(context, contenders, false);
  const large = await compared(context, managed, true);
  const row = (what: string, ours: readonly number[], other?: readonly number[], more: object = {}) =>
    ({
      what,
      unit: 'events/CPU-s',
      better: 'higher',
      longwatch: ours,
      ...(other && { clientNode: other }),
      ...more,
    }) satisfies ClientRow;
  const { watch, lazyWatch, otherWatch, informer, lazyInformer, otherInformer, indexed, byNode, bare } = small;
  const decoded = { target: { ratio: TIMES_AS_GOOD } };
  const lazy = { target: { ratio: TIMES_AS_GOOD_LAZY } };
  return [
    row('newlines found on a bare TLS socket', bare, undefined, { note: 'no client at all: the floor' }),
    row('watch loop', watch, otherWatch, decoded),
    row('the same, lazy', lazyWatch, otherWatch, lazy),
    row('informer with an index by label and a handler', informer, otherInformer, decoded),
    row('the same, lazy', lazyInformer, otherInformer, lazy),
    row('the same, lazy, without the handler', indexed, otherInformer, { target: { value: MARK } }),
    row('the same, lazy, by spec.nodeName, no handler', byNode, otherInformer, { note: 'every object is decoded' }),
    row('watch loop, managed fields, usual reading', large.watch, large.otherWatch, decoded),
    row('informer, managed fields, usual reading', large.informer, large.otherInformer, decoded),
    row('watch loop, managed fields, lazy, a label is read', large.lazyWatch, large.otherWatch, lazy),
    row('informer, managed fields, lazy, a label is read', large.lazyInformer, large.otherInformer, lazy),
    row('informer, managed fields, all is read', large.informerOfAll, large.otherInformerOfAll),
  ];
}

/** Events per CPU second of each, one per round. */
async function compared<Name extends string>(
  context: ServerContext,
  all: Record<Name, Contender>,
  isManaged: boolean,
): Promise<Record<Name, number[]>> {
  const { isQuick, say, signal, profileFolder } = context;
  const events = isQuick ? 30_000 : 60_000;
  const rounds = isQuick ? 2 : 3;
  const cluster = await prepareCluster(context, 0);
  await using server = await startFrames(context, { ...cluster, pods: PODS, events, isManaged });
  const kubeconfig = kubeconfigFor(cluster, server.ready.port);
  const names = Object.keys(all) as Name[];
  const once = (name: Name) => {
    say(`stream of ${events} events${isManaged ? ' with managed fields' : ''}: ${name}`);
    const job = { ...all[name], kubeconfig, pods: PODS, events, warmUp: events / 5 };
    return runStream(job, { signal, profileFolder });
  };
  const results = await interleave(rounds, names, once, 90_000);
  const rates = names.map((name) => [name, results[name].map(({ perCpuSecond }) => perCpuSecond)]);
  return Object.fromEntries(rates) as Record<Name, number[]>;
}
