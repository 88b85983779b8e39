/**
 * What one word says about a pod. The order of the checks is what people know from kubectl: first trouble while
 * initialising, then trouble of a container (the first in the list wins), then whether it is on its way out.
 *
 * Pure; reads the pod as stored.
 */
import type { KubeObject } from '../../api/objects.ts';
import { flag, get, hasCondition, list, number, type RowCondition, text } from './columns.ts';

export type PodSummary = {
  readonly ready: number;
  readonly total: number;
  readonly reason: string;
  readonly restarts: number;
  /** RFC 3339; empty if nothing restarted. */
  readonly lastRestart: string;
};

export function summarisePod(pod: KubeObject): PodSummary {
  const sidecars = new Set(
    list(pod, 'spec', 'initContainers')
      .filter((container) => text(container, 'restartPolicy') === 'Always')
      .map((container) => text(container, 'name')),
  );
  const total = list(pod, 'spec', 'containers').length + sidecars.size;
  const startReason = reasonBeforeContainers(pod);
  const initial = walkInitContainers(pod, sidecars);
  if (initial.reason !== undefined && !hasCondition(pod, 'Initialized')) {
    const { ready, restarts, lastRestart } = initial;
    return { ready, total, restarts, lastRestart, reason: whenDeleted(pod, initial.reason) };
  }
  const running = walkContainers(pod, initial.reason ?? startReason);
  return {
    total,
    ready: initial.ready + running.ready,
    restarts: initial.sidecarRestarts + running.restarts,
    lastRestart: later(initial.lastSidecarRestart, running.lastRestart),
    reason: whenDeleted(pod, running.reason),
  };
}

export function podConditions(pod: KubeObject): RowCondition[] {
  const phase = text(pod, 'status', 'phase');
  const message = { Succeeded: 'The pod has completed successfully.', Failed: 'The pod failed.' }[phase];
  return message === undefined ? [] : [{ type: 'Completed', status: 'True', reason: phase, message }];
}

function reasonBeforeContainers(pod: KubeObject): string {
  const isGated = list(pod, 'status', 'conditions').some(
    (condition) => text(condition, 'type') === 'PodScheduled' && text(condition, 'reason') === 'SchedulingGated',
  );
  if (isGated) return 'SchedulingGated';
  return text(pod, 'status', 'reason') || text(pod, 'status', 'phase');
}

type InitSummary = {
  ready: number;
  restarts: number;
  lastRestart: string;
  sidecarRestarts: number;
  lastSidecarRestart: string;
  /** Absent once all of them are done. */
  reason?: string;
};

function walkInitContainers(pod: KubeObject, sidecars: ReadonlySet<string>): InitSummary {
  const summary: InitSummary = { ready: 0, restarts: 0, lastRestart: '', sidecarRestarts: 0, lastSidecarRestart: '' };
  for (const [index, status] of list(pod, 'status', 'initContainerStatuses').entries()) {
    const isSidecar = sidecars.has(text(status, 'name'));
    const finishedAt = text(status, 'lastState', 'terminated', 'finishedAt');
    summary.restarts += number(status, 'restartCount');
    summary.lastRestart = later(summary.lastRestart, finishedAt);
    if (isSidecar) {
      summary.sidecarRestarts += number(status, 'restartCount');
      summary.lastSidecarRestart = later(summary.lastSidecarRestart, finishedAt);
    }
    const terminated = get(status, 'state', 'terminated');
    if (terminated && number(terminated, 'exitCode') === 0) continue;
    if (isSidecar && flag(status, 'started')) {
      if (flag(status, 'ready')) summary.ready++;
      continue;
    }
    const waiting = text(status, 'state', 'waiting', 'reason');
    const count = list(pod, 'spec', 'initContainers').length;
    if (terminated) summary.reason = `Init:${endReason(terminated)}`;
    else if (waiting && waiting !== 'PodInitializing') summary.reason = `Init:${waiting}`;
    else summary.reason = `Init:${index}/${count}`;
    break;
  }
  return summary;
}

function walkContainers(
  pod: KubeObject,
  startReason: string,
): { ready: number; restarts: number; lastRestart: string; reason: string } {
  let [ready, restarts, lastRestart, reason, failure] = [0, 0, '', startReason, ''];
  let isRunning = false;
  for (const status of [...list(pod, 'status', 'containerStatuses')].reverse()) {
    restarts += number(status, 'restartCount');
    lastRestart = later(lastRestart, text(status, 'lastState', 'terminated', 'finishedAt'));
    const waiting = text(status, 'state', 'waiting', 'reason');
    const terminated = get(status, 'state', 'terminated');
    if (waiting) reason = waiting;
    else if (terminated) {
      reason = endReason(terminated);
      if (number(terminated, 'exitCode') !== 0) failure = reason;
    } else if (flag(status, 'ready') && get(status, 'state', 'running')) {
      isRunning = true;
      ready++;
    }
  }
  if (reason === 'Completed') {
    if (isRunning && hasCondition(pod, 'Ready')) reason = 'Running';
    else if (failure) reason = failure;
    else if (isRunning) reason = 'NotReady';
  }
  return { ready, restarts, lastRestart, reason };
}

function whenDeleted(pod: KubeObject, reason: string): string {
  if (!pod.metadata.deletionTimestamp) return reason;
  if (text(pod, 'status', 'reason') === 'NodeLost') return 'Unknown';
  const phase = text(pod, 'status', 'phase');
  return phase === 'Succeeded' || phase === 'Failed' ? reason : 'Terminating';
}

function endReason(terminated: unknown): string {
  const reason = text(terminated, 'reason');
  if (reason) return reason;
  const signal = number(terminated, 'signal');
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${number(terminated, 'exitCode')}`;
}

/** Times in UTC to the second order as texts. */
function later(a: string, b: string): string {
  return a < b ? b : a;
}
