/**
 * What a Deployment says of itself: counts of its replica sets, and conditions, with the reasons and in the words that tools
 * wait for. Pure.
 *
 * `Progressing` is about the newest rollout: it turns False when nothing has moved for `progressDeadlineSeconds`, which is
 * counted from `lastUpdateTime`. A condition of the same status and reason stays as it is, also where its text would differ.
 */
import { isDeepStrictEqual } from 'node:util';
import { rfc3339 } from '../../api/index.ts';
import type { appsv1 } from '../../client/index.ts';
import { findCondition } from '../../controller/index.ts';
import { boundsOf } from './deployment-sets.ts';

type Deployment = appsv1.Deployment;
type ReplicaSet = appsv1.ReplicaSet;
type Status = appsv1.DeploymentStatus;
type Conditions = readonly appsv1.DeploymentCondition[];
type Said = Pick<appsv1.DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Who says so never expects progress. */
const NO_DEADLINE = 2 ** 31 - 1;
const PROGRESSING = 'Progressing';
const FAILURE = 'ReplicaFailure';
const DONE = 'NewReplicaSetAvailable';
const TIMED_OUT = 'ProgressDeadlineExceeded';
const PAUSED = 'DeploymentPaused';

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;
}

export function withCondition(conditions: Conditions, said: Said, nowMs: number): appsv1.DeploymentCondition[] {
  const known = findCondition(conditions, said.type);
  if (known?.status === said.status && known.reason === said.reason) return [...conditions];
  const now = rfc3339(nowMs);
  const lastTransitionTime = known?.status === said.status ? (known.lastTransitionTime ?? now) : now;
  const others = conditions.filter(({ type }) => type !== said.type);
  return [...others, { ...said, lastUpdateTime: now, lastTransitionTime }];
}

export const progress = (status: Said['status'], reason: string, message: string): Said => ({
  type: PROGRESSING,
  status,
  reason,
  message,
});

/** Time that passes while it is paused does not count, and what was late before stays late. */
export function pausedConditions(deployment: Deployment, nowMs: number): Conditions {
  const known = deployment.status?.conditions ?? [];
  const reason = findCondition(known, PROGRESSING)?.reason;
  if (!hasDeadline(deployment) || reason === TIMED_OUT) return known;
  if (deployment.spec.paused && reason !== PAUSED)
    return withCondition(known, progress('Unknown', PAUSED, 'Deployment is paused'), nowMs);
  if (!deployment.spec.paused && reason === PAUSED)
    return withCondition(known, progress('Unknown', 'DeploymentResumed', 'Deployment is resumed'), nowMs);
  return known;
}

export type Seen = {
  readonly deployment: Deployment;
  /** As they are so far. */
  readonly conditions: Conditions;
  readonly collisionCount: number | undefined;
  readonly newest: ReplicaSet | undefined;
  /** With the newest. */
  readonly sets: readonly ReplicaSet[];
  readonly nowMs: number;
};

export function countedStatus({ deployment, conditions, collisionCount, newest, sets, nowMs }: Seen): Status {
  const wanted = deployment.spec.replicas ?? 1;
  const sum = (count: (set: ReplicaSet) => number | undefined) =>
    sets.reduce((total, set) => total + (count(set) ?? 0), 0);
  const available = sum(({ status }) => status?.availableReplicas);
  const counts = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum(({ status }) => status?.replicas),
    updatedReplicas: newest?.status?.replicas ?? 0,
    readyReplicas: sum(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(({ spec }) => spec.replicas) - available),
  };
  const isLeavingKnown = sets.every(({ status }) => status?.terminatingReplicas !== undefined);
  const isAvailable = available >= wanted - boundsOf(deployment).maxUnavailable;
  const minimum: Said = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: isAvailable ? 'Deployment has minimum availability.' : 'Deployment does not have minimum availability.',
  };
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)), // as it will be stored
    ...(isLeavingKnown && { terminatingReplicas: sum(({ status }) => status?.terminatingReplicas) }),
    ...(collisionCount !== undefined && { collisionCount }),
    conditions: withCondition(conditions, minimum, nowMs),
  };
}

/** The same during a rollout: with how it goes, and why it does not. */
export function rolloutStatus(seen: Seen): Status {
  const { deployment, newest, sets, nowMs } = seen;
  const status = countedStatus(seen);
  let conditions: Conditions = status.conditions ?? [];
  const known = findCondition(seen.conditions, PROGRESSING);
  const isOver = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && known?.reason === DONE;
  if (!hasDeadline(deployment)) conditions = conditions.filter(({ type }) => type !== PROGRESSING);
  else if (!isOver) {
    const what = newest ? `ReplicaSet "${newest.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
    if (isComplete(deployment, status))
      conditions = withCondition(conditions, progress('True', DONE, `${what} has successfully progressed.`), nowMs);
    else if (isMoving(deployment.status ?? {}, status)) {
      const others = conditions.filter(({ type }) => type !== PROGRESSING);
      const [moving] = withCondition([], progress('True', 'ReplicaSetUpdated', `${what} is progressing.`), nowMs);
      const since = known?.status === 'True' ? known.lastTransitionTime : undefined;
      conditions = [...others, { ...moving!, ...(since !== undefined && { lastTransitionTime: since }) }];
    } else if (isLate(deployment, conditions, nowMs))
      conditions = withCondition(conditions, progress('False', TIMED_OUT, `${what} has timed out progressing.`), nowMs);
  }
  return { ...status, conditions: withFailure(conditions, newest, sets, nowMs) };
}

export function isComplete({ spec, metadata }: Deployment, status: Status): boolean {
  const wanted = spec.replicas ?? 1;
  return (
    [status.updatedReplicas, status.replicas, status.availableReplicas].every((count) => (count ?? 0) === wanted) &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

/** More are new, ready or available, or fewer are old, than before. */
function isMoving(before: Status, now: Status): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: Status) => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

function isLate(deployment: Deployment, conditions: Conditions, nowMs: number): boolean {
  const known = findCondition(conditions, PROGRESSING);
  if (!known || known.reason === DONE) return false;
  return known.reason === TIMED_OUT || deadlineOf(deployment, known) < nowMs;
}

function deadlineOf({ spec }: Deployment, { lastUpdateTime }: appsv1.DeploymentCondition): number {
  return Date.parse(lastUpdateTime ?? '') + (spec.progressDeadlineSeconds ?? 0) * 1000;
}

/** When to look whether it is late; undefined: it is over, late already, or nobody asks. */
export function msUntilLate(deployment: Deployment, status: Status, nowMs: number): number | undefined {
  const known = findCondition(status.conditions, PROGRESSING);
  if (!hasDeadline(deployment) || !known || known.reason === TIMED_OUT) return undefined;
  if (deployment.spec.paused || isComplete(deployment, status)) return undefined;
  return Math.max(0, deadlineOf(deployment, known) - nowMs) + 1000; // times are whole seconds
}

/** Why Pods cannot be made or taken away: of the newest set before others. */
function withFailure(
  conditions: Conditions,
  newest: ReplicaSet | undefined,
  sets: readonly ReplicaSet[],
  nowMs: number,
): appsv1.DeploymentCondition[] {
  const failures = [newest, ...sets].map((set) => findCondition(set?.status?.conditions, FAILURE));
  const failure = failures.find((one) => one !== undefined);
  if (!failure) return conditions.filter(({ type }) => type !== FAILURE);
  const known = findCondition(conditions, FAILURE);
  if (known?.status === failure.status && known.reason === failure.reason) return [...conditions];
  const { status, reason = '', message = '', lastTransitionTime = rfc3339(nowMs) } = failure;
  const others = conditions.filter(({ type }) => type !== FAILURE);
  return [
    ...others,
    { type: FAILURE, status, reason, message, lastUpdateTime: lastTransitionTime, lastTransitionTime },
  ];
}

export function isSameStatus(known: Status | undefined, next: Status): boolean {
  const plain = (status: Status = {}) => JSON.parse(JSON.stringify({ conditions: [], ...status })) as object;
  return isDeepStrictEqual(plain(known), plain(next));
}
