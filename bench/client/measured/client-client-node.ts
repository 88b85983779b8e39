/** `@kubernetes/client-node` at the same jobs: its informer with its cache, or its watch with a callback. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Job } from '../client-jobs.ts';
import type { Jobs } from './client-child.ts';
import { readerOf } from './client-reading.ts';

const PATH = '/api/v1/pods';

export async function clientNodeJobs(job: Job): Promise<Jobs> {
  const { CoreV1Api, KubeConfig, makeInformer, Watch } = await import('@kubernetes/client-node');
  const read = readerOf(job);
  const config = new KubeConfig();
  config.loadFromFile(job.kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, PATH, () => api.listPodForAllNamespaces());
  return {
    sync: async () => {
      await informer.start();
      return informer.list().length;
    },
    watch: async (job, seen) => {
      const tell = (_type: string, object: V1Pod) => {
        read(object);
        seen(Number(object.metadata!.resourceVersion));
      };
      await new Watch(config).watch(PATH, { resourceVersion: String(job.pods) }, tell, () => {});
    },
    informer: async (_job, seen) => {
      informer.on('update', (pod) => {
        read(pod);
        seen(Number(pod.metadata!.resourceVersion));
      });
      await informer.start();
    },
    slow: async (_job, { stored, handled }) => {
      informer.on('update', (pod) => {
        stored(Number(pod.metadata!.annotations!['bench.longwatch/extra']), Number(pod.metadata!.resourceVersion));
        void handled(); // it does not wait for handlers: those that wait run all at once
      });
      await informer.start();
    },
  };
}
