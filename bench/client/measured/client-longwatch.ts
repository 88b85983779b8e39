/** Longwatch at the jobs that clients are measured at: an informer of all namespaces, or a watch loop. */

import { Informer } from '../../../src/client/advanced.ts';
import {
  type AnyObject,
  connect,
  type Indexers,
  type InformerOptions,
  type LazyObject,
  lazyOf,
  type Resource,
} from '../../../src/client/index.ts';
import { type Pod, pods } from '../../../src/client/objects/generated/core-v1.ts';
import type { Job } from '../client-jobs.ts';
import type { Jobs } from './client-child.ts';
import { readerOf } from './client-reading.ts';

const LOOK_MS = 2;

/** The HTTP client is loaded beforehand, as all of client-node is: what loading costs is for `client-import.ts`. */
export async function longwatchJobs(job: Job): Promise<Jobs> {
  const client = await connect({ paths: [job.kubeconfig] });
  await import('undici');
  const read = readerOf(job);
  const start = (transform?: (pod: Pod) => Pod): Informer<AnyObject> => {
    const options = optionsOf(job);
    const indexers = indexersOf(job);
    const token: Resource = job.objects === 'lazy' ? lazyOf(pods) : pods;
    return new Informer(client, token, {
      ...options,
      indexers,
      ...(transform && { transform }),
    } as InformerOptions<AnyObject>);
  };
  return {
    sync: async () => {
      const informer = start();
      await informer.synced();
      return informer.size;
    },
    watch: async (_job, seen) => {
      const token = job.objects === 'lazy' ? lazyOf(pods) : pods;
      const options = { allNamespaces: true, resourceVersion: String(job.pods) };
      for await (const { object } of client.watch<AnyObject>(token, options)) {
        read(object);
        seen(Number(object.metadata.resourceVersion));
      }
    },
    informer: async (_job, seen) => {
      const informer = start();
      const handle = (object: AnyObject) => {
        read(object);
        seen(Number(object.metadata.resourceVersion), () => Number(informer.resourceVersion));
      };
      if (job.hasHandler) informer.subscribe(({ object }) => handle(object));
      else setInterval(() => seen(Number(informer.resourceVersion ?? 0)), LOOK_MS);
      await informer.synced();
    },
    slow: async (_job, { stored, handled }) => {
      const informer = start((pod) => {
        const { annotations, resourceVersion } = pod.metadata;
        const sentAt = Number(annotations?.['bench.longwatch/extra']);
        if (sentAt > 0) stored(sentAt, Number(resourceVersion));
        return pod;
      });
      await informer.synced();
      informer.subscribe((event) => (event.type === 'updated' ? handled() : undefined));
    },
  };
}

function indexersOf({ index, objects }: Job): Indexers<Pod & LazyObject<Pod>> {
  if (index === 'label') return { byApp: ({ metadata }) => [metadata.labels?.app] };
  if (index === 'node' && objects === 'lazy') return { byNode: (pod) => [pod.decode().spec.nodeName] };
  if (index === 'node') return { byNode: ({ spec }) => [spec.nodeName] };
  return {};
}

function optionsOf({ fill }: Job): InformerOptions<AnyObject> {
  return { allNamespaces: true, ...(fill === 'pages' && { reflector: { useWatchList: false } }) };
}
