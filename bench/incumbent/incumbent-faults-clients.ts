/**
 * The informers that are put through the same faults, each used as its documentation says: `@kubernetes/client-node`
 * alone, the same with the restart after an error that its example shows, and Longwatch.
 */
import type { V1ConfigMap } from '@kubernetes/client-node';
import { type Clock, systemClock } from '../../src/api/index.ts';
import { Informer } from '../../src/client/advanced.ts';
import { KubeClient, KubeConfig } from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';

export type Contender = 'client-node' | 'client-node, restarted on error' | 'longwatch';
export const contenders: readonly Contender[] = ['client-node', 'client-node, restarted on error', 'longwatch'];

/** As in the example of client-node. */
const RESTART_MS = 5_000;

export type Copy = AsyncDisposable & {
  /** `data.v` of a ConfigMap in the namespace default; undefined if it is not there. */
  valueOf(name: string): string | undefined;
  /** What handlers were told of it, in order. */
  readonly told: readonly string[];
  /** What went wrong, as far as the library tells. */
  readonly errors: readonly string[];
};

export type CopyOptions = {
  readonly kubeconfig: string;
  readonly onChange?: (name: string, value: string) => unknown;
  /** Of Longwatch; client-node cannot be told the time. */
  readonly clock?: Clock;
};

export function startCopy(contender: Contender, options: CopyOptions): Promise<Copy> {
  return contender === 'longwatch' ? longwatchCopy(options) : clientNodeCopy(options, contender !== 'client-node');
}

async function longwatchCopy({ kubeconfig, onChange, clock = systemClock }: CopyOptions): Promise<Copy> {
  const client = new KubeClient((await KubeConfig.load({ paths: [kubeconfig] })).access({ env: {} }), { clock });
  const errors: string[] = [];
  const informer = new Informer(client, configMaps, {
    namespace: 'default',
    onFreshness: ({ error }) => error !== undefined && errors.push(String(error)),
    onError: (error) => void errors.push(String(error)),
  });
  const told: string[] = [];
  informer.subscribe(({ type, object }) => {
    if (type === 'deleted') return;
    told.push(stateOf(object));
    return onChange?.(object.metadata.name, object.data?.v ?? '');
  });
  await informer.synced();
  return {
    ...{ told, errors },
    valueOf: (name) => informer.get(`default/${name}`)?.data?.v,
    async [Symbol.asyncDispose]() {
      await informer[Symbol.asyncDispose]();
      await client.close();
    },
  };
}

async function clientNodeCopy({ kubeconfig, onChange }: CopyOptions, isRestarted: boolean): Promise<Copy> {
  const { CoreV1Api, KubeConfig: Config, makeInformer } = await import('@kubernetes/client-node');
  const config = new Config();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', () =>
    api.listNamespacedConfigMap({ namespace: 'default' }),
  );
  const told: string[] = [];
  const errors: string[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const tell = (object: V1ConfigMap) => {
    told.push(stateOf(object));
    return onChange?.(object.metadata?.name ?? '', object.data?.v ?? '');
  };
  informer.on('add', tell);
  informer.on('update', tell);
  informer.on('error', (error) => {
    errors.push(String(error));
    if (isRestarted) timers.add(setTimeout(() => void informer.start(), RESTART_MS));
  });
  await informer.start();
  return {
    ...{ told, errors },
    valueOf: (name) => informer.get(name, 'default')?.data?.v,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer);
      await informer.stop();
    },
  };
}

function stateOf({ metadata, data }: V1ConfigMap | ConfigMap): string {
  return `${metadata?.name} ${data?.v ?? ''}`;
}
