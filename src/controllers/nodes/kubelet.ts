/**
 * A pretend kubelet for all pretend nodes: pods that were given a node become Running and Ready, and go when they are
 * deleted. No container runs anywhere; what is real is everything the API shows of it.
 *
 * Starting and stopping take a moment, so that people can watch. An image whose tag is `broken` cannot be pulled, which
 * is how one sees a rollout that stops by itself. A pod that is not to run for ever (restartPolicy) is done a moment
 * after it has started; with the command `false`, or a script for a shell that ends with `exit N`, it has failed.
 */
import { isDeepStrictEqual } from 'node:util';
import { rfc3339, wallNow } from '../../api/index.ts';
import { corev1, isApiError, mergePatch } from '../../client/index.ts';
import {
  type Cached,
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  requeueAfter,
  setCondition,
  whereObject,
} from '../../controller/index.ts';
import { isFinished } from '../pods/pod-state.ts';
import { addressOfNode } from './pretend-nodes.ts';

export type KubeletOptions = {
  readonly nodeNames: readonly string[];
  /** Between being given a node and running. */
  readonly startMs: number;
  /** Between being told to stop and being gone; never longer than the pod's own grace period. */
  readonly stopMs: number;
};

/** What a container runtime would know of a pod. */
type Sandbox = { readonly uid: string; readonly ip: string; readonly since: number; stopsAt?: number };

/** Of one node, in two bytes of an address. */
const HOSTS = 255 * 254;

export function kubeletController({ nodeNames, startMs, stopMs }: KubeletOptions): ControllerDefinition<corev1.Pod> {
  const sandboxes = new Map<string, Sandbox>();
  const addresses = new Set<string>();

  let last = 0;
  const freeAddress = (nodeName: string, isTaken: (ip: string) => boolean): string => {
    for (let tries = 0; tries < HOSTS; tries++) {
      last = (last % HOSTS) + 1;
      const ip = `10.${64 + nodeNames.indexOf(nodeName)}.${last >> 8}.${last & 255}`;
      if (!isTaken(ip)) return ip;
    }
    throw new Error(`Cannot start a pod: all addresses of node "${nodeName}" are used up`);
  };
  const sandboxOf = (
    key: string,
    { metadata: { uid }, spec, status }: corev1.Pod,
    cached: Cached<corev1.Pod>,
  ): Sandbox => {
    const known = sandboxes.get(key);
    if (known?.uid === uid) return known;
    if (known) addresses.delete(known.ip);
    const isTaken = (ip: string) => addresses.has(ip) || cached.by('byAddress', ip).length > 0;
    const ip = status?.podIP ?? freeAddress(spec.nodeName!, isTaken);
    const since = Date.parse(status?.startTime ?? '') || wallNow(); // it may have been started by an earlier run
    const sandbox = { uid, ip, since };
    sandboxes.set(key, sandbox);
    addresses.add(ip);
    return sandbox;
  };

  return defineController({
    name: 'kubelet',
    concurrency: 16,
    for: {
      resource: corev1.pods,
      indexers: { byAddress: ({ status }) => [status?.podIP] },
      where: whereObject((pod) => nodeNames.includes(pod.spec.nodeName ?? '')),
    },
    async reconcile(pod, { key, name, client, cache }) {
      if (!pod) {
        addresses.delete(sandboxes.get(key)?.ip ?? '');
        return void sandboxes.delete(key);
      }
      if (isFinished(pod) && !isBeingDeleted(pod)) return;
      const sandbox = sandboxOf(key, pod, cache.of(corev1.pods));
      const { uid, deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
      if (isBeingDeleted(pod)) {
        sandbox.stopsAt ??= wallNow() + Math.min(stopMs, grace * 1000);
        const waitMs = sandbox.stopsAt - wallNow();
        if (waitMs > 0) return requeueAfter(waitMs);
        await client
          .resource(corev1.pods)
          .delete(name, { gracePeriodSeconds: 0, preconditions: { uid } })
          .catch(ignoreGone);
        return;
      }
      const startsIn = sandbox.since + startMs - wallNow();
      // Times in a status are whole seconds: a pod that ends at once would have ended before it began.
      const endsIn = pod.spec.restartPolicy === 'Always' ? 0 : sandbox.since + 2 * startMs - wallNow();
      const isDone = pod.spec.restartPolicy !== 'Always' && endsIn <= 0;
      const waitMs = startsIn > 0 ? startsIn : endsIn;
      const hostIP = addressOfNode(nodeNames.indexOf(pod.spec.nodeName!));
      const told = isDone ? endOf(pod, sandbox) : statusOf(pod, sandbox, startsIn <= 0);
      const status = { ...told, hostIP, hostIPs: [{ ip: hostIP }] };
      if (!isDeepStrictEqual(status, pick(pod.status, status)))
        await client
          .resource(corev1.pods)
          .status.patch(name, mergePatch({ metadata: { uid }, status }))
          .catch(ignoreGone);
      return waitMs > 0 ? requeueAfter(waitMs) : undefined;
    },
  });
}

function statusOf(pod: corev1.Pod, { ip, since }: Sandbox, isStarted: boolean): corev1.PodStatus {
  const isPullable = (image = '') => !image.endsWith(':broken');
  const isRunning = isStarted && pod.spec.containers.every(({ image }) => isPullable(image));
  const containerStatuses = pod.spec.containers.map(({ name, image = '', resources = {} }) => ({
    name,
    image,
    imageID: isRunning ? `pretended://${image}` : '',
    ready: isRunning,
    started: isRunning,
    restartCount: restartsOf(pod, name), // whoever says otherwise is believed
    state: isRunning
      ? { running: { startedAt: rfc3339(since) } }
      : { waiting: { reason: isPullable(image) ? 'ContainerCreating' : 'ImagePullBackOff' } },
    lastState: {},
    ...(isRunning && { resources }), // of a container that runs they can be changed
  }));
  const reason = isRunning ? undefined : 'ContainersNotReady';
  const conditions = ['Initialized', 'ContainersReady', 'Ready'].reduce<corev1.PodCondition[]>(
    (before, type) =>
      setCondition(before, {
        type,
        status: isRunning || type === 'Initialized' ? 'True' : 'False',
        reason: (type !== 'Initialized' && reason) || '',
        message: '',
      }),
    pod.status?.conditions ?? [],
  );
  return {
    phase: isRunning ? 'Running' : 'Pending',
    conditions,
    ...(isRunning && { podIP: ip, podIPs: [{ ip }] }),
    startTime: rfc3339(since),
    containerStatuses,
    ...initStatusesOf(pod, since, isRunning ? 'running' : 'waiting'),
  };
}

function restartsOf({ status }: corev1.Pod, container: string): number {
  return status?.containerStatuses?.find(({ name }) => name === container)?.restartCount ?? 0;
}

/** What goes before the others is done when these run, and what runs beside them runs. */
function initStatusesOf(
  { spec }: corev1.Pod,
  since: number,
  phase: 'waiting' | 'running' | 'ended',
): Pick<corev1.PodStatus, 'initContainerStatuses'> {
  if (!spec.initContainers?.length) return {};
  const at = rfc3339(since);
  const done = { terminated: { exitCode: 0, reason: 'Completed', startedAt: at, finishedAt: at } };
  const initContainerStatuses = spec.initContainers.map(({ name, image = '', restartPolicy }) => {
    const isRunning = restartPolicy === 'Always' && phase === 'running';
    const state = isRunning ? { running: { startedAt: at } } : done;
    return {
      ...{ name, image, imageID: phase === 'waiting' ? '' : `pretended://${image}` },
      ...{
        ready: isRunning || (phase !== 'waiting' && restartPolicy !== 'Always'),
        started: isRunning,
        restartCount: 0,
      },
      state: phase === 'waiting' ? { waiting: { reason: 'PodInitializing' } } : state,
      lastState: {},
    };
  });
  return { initContainerStatuses };
}

/** All containers have come to their end. One whose image cannot be had never began. */
function endOf(pod: corev1.Pod, sandbox: Sandbox): corev1.PodStatus {
  const running = statusOf(pod, sandbox, true);
  if (running.phase !== 'Running') return running;
  const codes = new Map(pod.spec.containers.map((container) => [container.name, exitCodeOf(container)]));
  const hasFailed = [...codes.values()].some((code) => code !== 0);
  if (hasFailed && pod.spec.restartPolicy === 'OnFailure') return running; // it is tried again and again
  const [startedAt, finishedAt] = [rfc3339(sandbox.since), rfc3339(wallNow())];
  const containerStatuses = (running.containerStatuses ?? []).map((container) => {
    const exitCode = codes.get(container.name) ?? 0;
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    return {
      ...container,
      ready: false,
      started: false,
      state: { terminated: { exitCode, reason, startedAt, finishedAt } },
    };
  });
  const conditions = ['ContainersReady', 'Ready'].reduce<corev1.PodCondition[]>(
    (before, type) =>
      setCondition(before, {
        type,
        status: 'False',
        reason: hasFailed ? 'PodFailed' : 'PodCompleted',
        message: '',
      }),
    running.conditions ?? [],
  );
  const ended = initStatusesOf(pod, sandbox.since, 'ended');
  return { ...running, phase: hasFailed ? 'Failed' : 'Succeeded', conditions, containerStatuses, ...ended };
}

/** What it would end with: of a script, what its last line says. */
function exitCodeOf({ command = [], args = [] }: corev1.Container): number {
  const [program = '', flag, ...script] = [...command, ...args];
  if (/^(.*\/)?false$/.test(program)) return 1;
  if (!/^(.*\/)?(ba|da)?sh$/.test(program) || flag !== '-c') return 0;
  return Number(/(?:^|[\s;&|])exit (\d{1,3})\s*$/.exec(script[0] ?? '')?.[1] ?? 0) % 256;
}

/** Of what is there, the parts that we write. */
function pick(status: corev1.PodStatus | undefined, wanted: corev1.PodStatus): corev1.PodStatus {
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, status?.[name as keyof corev1.PodStatus]]));
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err; // another pod by now, or none
}
