/**
 * Deployment to ReplicaSets: one for each template it has had, the newest with all replicas, the others with none, and in
 * between a rollout that keeps within maxSurge and maxUnavailable (rollout.ts). One that is scaled meanwhile grows or shrinks
 * in all its generations first; one that is paused does only that.
 *
 * With Recreate the new replica set is made when no Pod of the old ones runs any more. Everything a turn has found out is
 * written with one update of the status, at its end, also where the turn has failed.
 */
import { wallNow } from '../../api/index.ts';
import { appsv1, corev1, mergePatch } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  requeueAfter,
  setControllerReference,
} from '../../controller/index.ts';
import { byController, podIndexers } from '../pods/indexes.ts';
import { messageOf } from '../pods/own-pods.ts';
import { isFinished } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
import {
  annotateNewest,
  boundsOf,
  createSet,
  forgetOld,
  isSaturated,
  isScaling,
  mostOf,
  newestSet,
  REVISION,
  revisionOf,
  scaleSet,
} from './deployment-sets.ts';
import {
  countedStatus,
  hasDeadline,
  isComplete,
  isSameStatus,
  msUntilLate,
  pausedConditions,
  progress,
  rolloutStatus,
  type Seen,
  withCondition,
} from './deployment-status.ts';
import { type Generation, nextReplicas, scaledReplicas } from './rollout.ts';

type Deployment = appsv1.Deployment;
type ReplicaSet = appsv1.ReplicaSet;
/** What a turn has found out so far. */
type Turn = {
  readonly deployment: Deployment;
  readonly context: ReconcileContext;
  sets: readonly ReplicaSet[];
  newest: ReplicaSet | undefined;
  conditions: readonly appsv1.DeploymentCondition[];
  collisionCount: number | undefined;
  error?: unknown;
};

const AT_ONCE_MS = 10;

export const deploymentController: ControllerDefinition<Deployment> = defineController({
  name: 'deployment-controller',
  for: appsv1.deployments,
  owns: [{ resource: appsv1.replicaSets, indexers: { byController } }],
  watches: [
    {
      resource: appsv1.replicaSets,
      map: (set, { cache }) =>
        controllerOf(set) ? undefined : cache.of(appsv1.deployments).list({ namespace: set.metadata.namespace! }),
    },
    {
      resource: corev1.pods,
      indexers: podIndexers,
      // Who waits for the last of the old Pods.
      map: (pod, { cache, event }) =>
        event.type === 'deleted' || isFinished(pod)
          ? cache.of(appsv1.deployments).list({ namespace: pod.metadata.namespace! }).filter(isRecreated)
          : undefined,
    },
  ],
  async reconcile(deployment, context) {
    if (!deployment) return undefined; // its replica sets are the garbage collector's business
    if (selectsAll(deployment)) {
      context.recorder.warning(
        'SelectingAll',
        'This deployment is selecting all pods. A non-empty selector is required.',
      );
      return undefined;
    }
    const isGoing = isBeingDeleted(deployment);
    const sets = isGoing ? ownSets(deployment, context) : await claimSets(deployment, context);
    const { status } = deployment;
    const turn: Turn = {
      ...{ deployment, context, sets, newest: newestSet(deployment, sets) },
      ...{ conditions: status?.conditions ?? [], collisionCount: status?.collisionCount },
    };
    if (isGoing) return writeTurn(turn, countedStatus);
    turn.conditions = pausedConditions(deployment, wallNow());
    if (deployment.spec.paused || isScaling(deployment, sets)) {
      await syncNewest(turn);
      await scaleAll(turn);
      return writeTurn(turn, countedStatus);
    }
    await (isRecreated(deployment) ? recreate(turn) : rollOut(turn));
    return writeTurn(turn, rolloutStatus);
  },
});

function isRecreated({ spec }: Deployment): boolean {
  return spec.strategy?.type === 'Recreate';
}

function selectsAll({ spec }: Deployment): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec.selector;
  return Object.keys(matchLabels).length + matchExpressions.length === 0;
}

function ownSets(deployment: Deployment, { cache }: ReconcileContext): ReplicaSet[] {
  return cache
    .of(appsv1.replicaSets)
    .by('byController', deployment.metadata.uid)
    .sort((a, b) => revisionOf(a) - revisionOf(b));
}

/** Its own that still match, and those that nobody has and that do; what matches no more is let go. */
async function claimSets(deployment: Deployment, context: ReconcileContext): Promise<ReplicaSet[]> {
  const { cache, client, namespace } = context;
  const resource = client.resource(appsv1.replicaSets);
  const matching = cache.of(appsv1.replicaSets).list({ namespace, labelSelector: deployment.spec.selector });
  const names = new Set(matching.map(({ metadata }) => metadata.name));
  const owned = ownSets(deployment, context);
  for (const set of owned.filter((one) => !names.has(one.metadata.name) && !isBeingDeleted(one))) {
    const { ownerReferences = [], uid, resourceVersion, name } = set.metadata;
    const left = ownerReferences.filter((one) => one.uid !== deployment.metadata.uid);
    const metadata = { uid, resourceVersion, ownerReferences: left.length > 0 ? left : null } as object;
    await resource.patch(name, mergePatch<ReplicaSet>({ metadata }));
  }
  const kept = owned.filter((one) => names.has(one.metadata.name));
  for (const orphan of matching.filter((set) => !controllerOf(set) && !isBeingDeleted(set)))
    kept.push(await resource.update(setControllerReference(deployment, orphan)));
  return kept.sort((a, b) => revisionOf(a) - revisionOf(b));
}

/** The newest, if there is one, is told what it is to carry. */
async function syncNewest(turn: Turn): Promise<void> {
  const { deployment, newest, context } = turn;
  if (!newest) return;
  takeNewest(turn, await annotateNewest(deployment, newest, oldSets(turn), context));
  if (hasDeadline(deployment) && !turn.conditions.some(({ type }) => type === 'Progressing'))
    say(turn, progress('True', 'FoundNewReplicaSet', `Found new replica set "${newest.metadata.name}"`));
}

/** The same, or it is made; false where it could not be. */
async function syncOrMakeNewest(turn: Turn, replicas: () => number): Promise<boolean> {
  if (turn.newest) {
    await syncNewest(turn);
    return true;
  }
  const { deployment, context } = turn;
  const made = await createSet(deployment, replicas(), turn.sets, context);
  switch (made.kind) {
    case 'made': {
      takeNewest(turn, made.set);
      const message = `Created new replica set "${made.set.metadata.name}"`;
      if (hasDeadline(deployment)) say(turn, progress('True', 'NewReplicaSetCreated', message));
      return true;
    }
    case 'collided':
      turn.collisionCount = (turn.collisionCount ?? 0) + 1;
      return false;
    case 'refused': {
      const message = `Failed to create new replica set "${made.name}": ${messageOf(made.error)}`;
      if (hasDeadline(deployment)) say(turn, progress('False', 'ReplicaSetCreateError', message));
      context.recorder.warning('ReplicaSetCreateError', message);
      turn.error = made.error;
      return false;
    }
    case 'going':
      return false;
  }
}

function takeNewest(turn: Turn, set: ReplicaSet): void {
  turn.newest = set;
  turn.sets = [...turn.sets.filter(({ metadata }) => metadata.uid !== set.metadata.uid), set];
}

function say(turn: Turn, said: ReturnType<typeof progress>): void {
  turn.conditions = withCondition(turn.conditions, said, wallNow());
}

function oldSets({ sets, newest }: Turn): ReplicaSet[] {
  return sets.filter(({ metadata }) => metadata.uid !== newest?.metadata.uid);
}

async function rollOut(turn: Turn): Promise<void> {
  const { deployment } = turn;
  const next = () => {
    const none = { name: '', replicas: 0, available: 0 };
    const current = turn.newest ? generationOf(turn.newest) : none;
    const wanted = deployment.spec.replicas ?? 1;
    return nextReplicas({ wanted, ...boundsOf(deployment), current, old: oldSets(turn).map(generationOf) });
  };
  if (!(await syncOrMakeNewest(turn, () => next().get('') ?? 0))) return;
  const sizes = next();
  for (const set of turn.sets) await resize(turn, set, sizes.get(set.metadata.name) ?? 0);
}

async function recreate(turn: Turn): Promise<void> {
  const { deployment, context } = turn;
  const active = oldSets(turn).filter(({ spec }) => (spec.replicas ?? 1) > 0);
  for (const set of active) await resize(turn, set, 0);
  if (active.length > 0) return;
  const pods = context.cache.of(corev1.pods);
  const isRunning = ({ metadata }: ReplicaSet) => pods.by('byController', metadata.uid).some((pod) => !isFinished(pod));
  if (oldSets(turn).some(isRunning)) return;
  const wanted = deployment.spec.replicas ?? 1;
  if (await syncOrMakeNewest(turn, () => wanted)) await resize(turn, turn.newest!, wanted);
}

async function resize({ deployment, context }: Turn, set: ReplicaSet, replicas: number): Promise<void> {
  if (set.spec.replicas !== replicas) await scaleSet(deployment, set, replicas, context);
}

/** All generations to another number in all, without going on with the rollout. */
async function scaleAll(turn: Turn): Promise<void> {
  const { deployment, context, sets, newest } = turn;
  const wanted = deployment.spec.replicas ?? 1;
  const active = sets.filter(({ spec }) => (spec.replicas ?? 1) > 0);
  const youngest = [...sets].sort((a, b) => createdMs(b) - createdMs(a))[0];
  const only = active.length === 0 ? (newest ?? youngest) : active.length === 1 ? active[0] : undefined;
  if (only) return scaleSet(deployment, only, wanted, context);
  if (newest && isSaturated(deployment, newest)) {
    for (const set of active) if (set !== newest) await scaleSet(deployment, set, 0, context);
    return;
  }
  if (isRecreated(deployment)) return;
  const shares = active.map((set) => ({
    name: set.metadata.name,
    replicas: set.spec.replicas ?? 1,
    most: mostOf(set) || (deployment.status?.replicas ?? 0),
    createdMs: createdMs(set),
  }));
  const sizes = scaledReplicas(wanted, boundsOf(deployment).maxSurge, shares);
  for (const set of active) await scaleSet(deployment, set, sizes.get(set.metadata.name) ?? 0, context);
}

function createdMs({ metadata }: ReplicaSet): number {
  return Date.parse(metadata.creationTimestamp);
}

/** Its status and its place in the history; what is not needed any more goes when all is done. */
async function writeTurn(turn: Turn, statusOf: (seen: Seen) => appsv1.DeploymentStatus) {
  const { deployment, context, newest } = turn;
  const nowMs = wallNow();
  const status = statusOf({ ...turn, nowMs });
  const { metadata } = deployment;
  const revision = newest?.metadata.annotations?.[REVISION];
  const isRenumbered = revision !== undefined && metadata.annotations?.[REVISION] !== revision;
  const annotations = isRenumbered ? { ...metadata.annotations, [REVISION]: revision } : metadata.annotations;
  if (isRenumbered || !isSameStatus(deployment.status, status)) {
    const told = { ...deployment, status: {}, metadata: { ...metadata, ...(annotations && { annotations }) } };
    await writeStatus(context.client.resource(appsv1.deployments), told as Deployment, status);
  }
  if (turn.error) throw turn.error;
  if (turn.collisionCount !== deployment.status?.collisionCount) return requeueAfter(AT_ONCE_MS);
  if (!isBeingDeleted(deployment) && (deployment.spec.paused || isComplete(deployment, status)))
    await forgetOld(deployment, oldSets(turn), context);
  const waitMs = msUntilLate(deployment, status, nowMs);
  return waitMs === undefined ? undefined : requeueAfter(waitMs);
}

function generationOf({ metadata, spec, status }: ReplicaSet): Generation {
  return { name: metadata.name, replicas: spec.replicas ?? 1, available: status?.availableReplicas ?? 0 };
}
