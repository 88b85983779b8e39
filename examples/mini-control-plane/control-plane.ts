/**
 * A small control plane, whole: what makes an API server move.
 *
 *   Deployment -> ReplicaSet -> Pods -> scheduler gives each a node -> kubelet makes it Running
 *   garbage collector: what loses its owner goes      namespace: what is deleted goes with all that is in it
 *
 * It is a client like any other, in this process or in one of its own. Closing it leaves everything as it stands; the
 * next one goes on from there.
 */
import { isApiError, type KubeClient } from 'longwatch/client';
import { Manager } from 'longwatch/controller';
import { deploymentController } from './deployment.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { type KubeletOptions, kubeletController, registerNodes } from './kubelet.ts';
import { namespaceController } from './namespace.ts';
import { replicaSetController } from './replica-set.ts';
import { schedulerController } from './scheduler.ts';

export type ControlPlaneOptions = Partial<KubeletOptions> & {
  /** Ends the attempt to start. */
  readonly signal: AbortSignal;
  /** What goes wrong and is tried again. */
  readonly onError?: (message: string) => void;
};

export type ControlPlane = AsyncDisposable & {
  readonly nodeNames: readonly string[];
  /** Resolves when it was closed; rejects if a bug has ended it. */
  readonly ended: Promise<void>;
};

/** Resolves when it knows all there is and is at work. Refuses a cluster that has a control plane already. */
export async function startControlPlane(client: KubeClient, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { nodeNames = ['node-1', 'node-2', 'node-3'], startMs = 500, stopMs = 500, signal } = options;
  const report = (error: unknown, what: string) => {
    // Somebody else was faster; the next attempt sees what they did.
    const isNormal = isApiError(error, 'Conflict') || isApiError(error, 'NotFound');
    if (!isNormal) options.onError?.(`${what}: ${(error as Error).message}`);
  };
  await registerNodes(client, nodeNames, signal);

  const manager = new Manager({
    client,
    graceMs: 1000,
    onError: (error, { part, controller = part, key = '' }) => report(error, `${controller} ${key}`.trim()),
  });
  manager.add(deploymentController);
  manager.add(replicaSetController);
  manager.add(schedulerController);
  manager.add(kubeletController({ nodeNames, startMs, stopMs }));
  manager.add(namespaceController(client));
  const collector = new GarbageCollector(client, {
    onError: (error, key) => report(error, `garbage-collector ${key}`),
  });

  const ended = manager.run();
  ended.catch(() => {}); // told to whoever waits for it
  const close = async () => {
    await collector[Symbol.asyncDispose]();
    await manager.stop();
  };
  try {
    await Promise.all([manager.ready(signal), collector.start(signal)]);
  } catch (err) {
    await close();
    throw err;
  }
  return { nodeNames, ended, [Symbol.asyncDispose]: close };
}
