/**
 * Starts the controllers of a cluster over one client, and stops them.
 *
 * They are a client like any other: in the process of the server, or in one of their own against any server. Starting
 * waits for nothing; `ready` is for those who want to. Stopping leaves everything as it stands, and whoever starts next
 * goes on from there. With an election they run only while this process leads, and the next one takes over.
 */
import { closeOnce, untilAborted } from '../api/index.ts';
import { isApiError, type KubeClient } from '../client/index.ts';
import { type ControllerDefinition, type ElectionOptions, type LeaderElector, Manager } from '../controller/index.ts';
import { requestCleanerController } from './certificates/request-cleaner.ts';
import { type ControllerName, chooseControllers, type InServer, isInServer } from './controller-names.ts';
import { GarbageCollector } from './garbage/garbage-collector.ts';
import type { ClientFor } from './loopback-client.ts';
import { namespaceController } from './namespaces/namespace-controller.ts';
import { rootCertificateController } from './namespaces/root-certificate.ts';
import { serviceAccountController } from './namespaces/service-account.ts';
import { tokenCleanerController } from './namespaces/token-cleaner.ts';
import { tokenSecretsController } from './namespaces/token-secrets.ts';
import { endpointSliceController } from './network/endpoint-slice.ts';
import { endpointsController } from './network/endpoints.ts';
import { type KubeletOptions, kubeletController } from './nodes/kubelet.ts';
import { podGarbageCollector } from './nodes/pod-garbage-collector.ts';
import { pretendNodeNames, registerNodes } from './nodes/pretend-nodes.ts';
import { schedulerController } from './nodes/scheduler.ts';
import { isRefusedByNamespace } from './refused-by-namespace.ts';
import { claimBinder } from './storage/claim-binder.ts';
import { claimProtectionController } from './storage/claim-protection.ts';
import { volumeBinder } from './storage/volume-binder.ts';
import { volumeProtectionController } from './storage/volume-protection.ts';
import { daemonSetController } from './workloads/daemon-set.ts';
import { deploymentController } from './workloads/deployment.ts';
import { disruptionController } from './workloads/disruption.ts';
import { cronJobController } from './workloads/jobs/cron-job.ts';
import { jobController } from './workloads/jobs/job.ts';
import { ttlAfterFinishedController } from './workloads/jobs/ttl-after-finished.ts';
import { replicaSetController, replicationController } from './workloads/replica-set.ts';
import { statefulSetController } from './workloads/stateful-set.ts';

export type ControllersOptions = Partial<Omit<KubeletOptions, 'nodeNames'>> & {
  /** As `--controllers` takes them; without it those that a bare server needs. */
  readonly controllers?: readonly string[] | undefined;
  /** So many nodes that are only pretended, with a scheduler and a kubelet: 0. */
  readonly pretendNodes?: number | undefined;
  /** For `kube-root-ca.crt`: what the server's certificate leads to. Without it nothing is published. */
  readonly authorityPem?: string | undefined;
  /** Among those that share a cluster; without it they run at once. */
  readonly isElected?: boolean | undefined;
  readonly election?: Partial<ElectionOptions> | undefined;
  /** As whom each of them writes; all as the one client without it. */
  readonly clientFor?: ClientFor | undefined;
  /** What goes wrong and is tried again. */
  readonly onError?: ((message: string) => void) | undefined;
};

export type Controllers = AsyncDisposable & {
  readonly names: readonly ControllerName[];
  /** Resolves when they know all there is and are at work; with an election, also if another leads. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Resolves when they were stopped; rejects if a bug has ended them. */
  readonly ended: Promise<void>;
};

/** The lease of kube-controller-manager: beside a real one these stand by. */
const LEASE = { name: 'kube-controller-manager', namespace: 'kube-system' };
/** As kube-controller-manager has them. */
const POD_GARBAGE = { quarantineMs: 40_000, maxFinished: 12_500 };
const COLLECTOR = 'garbage-collector-controller';
const PUBLISHER = 'root-ca-certificate-publisher-controller';

/** Work beside the controllers: runs until its signal fires. `onReady` is told when it is at work. */
type Duty = (signal: AbortSignal, onReady: () => void) => Promise<void>;

export function startControllers(client: KubeClient, options: ControllersOptions = {}): Controllers {
  const names = chooseControllers(options.controllers).filter((name) => name !== PUBLISHER || options.authorityPem);
  const { isElected = false, pretendNodes = 0, startMs = 500, stopMs = 500, clientFor = () => client } = options;
  const stop = new AbortController();
  const report = (error: unknown, what: string) => {
    if (stop.signal.aborted || isRace(error)) return;
    options.onError?.(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  };
  const manager = new Manager({
    client,
    clientFor,
    graceMs: 1000,
    logger: false,
    ...(isElected && { election: { ...LEASE, ...options.election } }),
    onError: (error, { part, controller = part, key = '' }) => report(error, `${controller} ${key}`.trim()),
  });
  for (const definition of definitionsOf(names, client, options)) manager.add(definition);

  const collect: Duty = async (signal, onReady) => {
    await using collector = new GarbageCollector(clientFor(COLLECTOR), {
      onError: (error, key) => report(error, `${COLLECTOR} ${key}`),
      recorder: manager.recorder,
    });
    await collector.start(signal);
    onReady();
    await untilFired(signal);
  };
  const pretend: Duty = async (signal, onReady) => {
    const nodeNames = pretendNodeNames(pretendNodes);
    await registerNodes(clientFor('kubelet'), nodeNames, signal);
    await using _scheduler = manager.add(schedulerController);
    await using _kubelet = manager.add(kubeletController({ nodeNames, startMs, stopMs }));
    onReady();
    await untilFired(signal);
  };
  const duties = [...(names.includes(COLLECTOR) ? [collect] : []), ...(pretendNodes > 0 ? [pretend] : [])];

  manager.start(); // what it cannot be told is thrown here, before anything runs without an election
  const ended = manager.run(stop.signal);
  ended.catch(() => {}); // told to whoever waits for it
  const runs = duties.map((duty) => runDuty(duty, manager.elector, stop.signal));
  for (const { over } of runs) over.catch((error: unknown) => report(error, 'controllers'));
  return {
    names,
    ended,
    async ready(signal) {
      await Promise.all([manager.ready(signal), ...runs.map(({ ready }) => untilAborted(ready, signal))]);
      // What a duty has added since has informers of its own.
      await manager.ready(signal);
    },
    [Symbol.asyncDispose]: closeOnce(async () => {
      stop.abort(new Error('The controllers were stopped'));
      await Promise.allSettled(runs.map(({ over }) => over));
      await manager.stop();
    }),
  };
}

function definitionsOf(
  names: readonly ControllerName[],
  client: KubeClient,
  { authorityPem = '', pretendNodes = 0 }: ControllersOptions,
): ControllerDefinition[] {
  const definitions: Readonly<Record<Exclude<ControllerName, typeof COLLECTOR | InServer>, () => unknown>> = {
    'namespace-controller': () => namespaceController(client),
    'serviceaccount-controller': () => serviceAccountController,
    'serviceaccount-token-controller': () => tokenSecretsController(authorityPem),
    'token-cleaner-controller': () => tokenCleanerController,
    [PUBLISHER]: () => rootCertificateController(authorityPem),
    'persistentvolumeclaim-protection-controller': () => claimProtectionController,
    'persistentvolume-protection-controller': () => volumeProtectionController,
    'deployment-controller': () => deploymentController,
    'replicaset-controller': () => replicaSetController,
    'replicationcontroller-controller': () => replicationController,
    'statefulset-controller': () => statefulSetController,
    'daemonset-controller': () => daemonSetController,
    'job-controller': () => jobController,
    'cronjob-controller': () => cronJobController,
    'ttl-after-finished-controller': () => ttlAfterFinishedController,
    'endpointslice-controller': () => endpointSliceController,
    'endpoints-controller': () => endpointsController,
    'disruption-controller': () => disruptionController,
    'persistentvolume-binder-controller': () => [claimBinder(pretendNodes > 0), volumeBinder],
    'pod-garbage-collector-controller': () => podGarbageCollector(POD_GARBAGE),
    'certificatesigningrequest-cleaner-controller': () => requestCleanerController,
  };
  return names.flatMap((name) =>
    name === COLLECTOR || isInServer(name)
      ? []
      : (definitions[name]() as ControllerDefinition | ControllerDefinition[]),
  );
}

/** Of its own accord or, with an election, once in every term. `ready` then does not wait for another's term to end. */
function runDuty(
  duty: Duty,
  elector: LeaderElector | undefined,
  stop: AbortSignal,
): { readonly ready: Promise<void>; readonly over: Promise<void> } {
  if (elector)
    return { ready: Promise.resolve(), over: elector.runWhenLeading((signal) => duty(signal, () => {}), stop) };
  let onReady = () => {};
  const isReady = new Promise<void>((resolve) => {
    onReady = resolve;
  });
  const over = duty(stop, onReady).catch((error: unknown) => {
    if (!stop.aborted) throw error;
  });
  return { ready: Promise.race([isReady, over]), over };
}

function untilFired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Somebody else was faster, or is about to take everything away; the next attempt sees what they did. */
function isRace(error: unknown): boolean {
  return isApiError(error, 'Conflict') || isRefusedByNamespace(error);
}
