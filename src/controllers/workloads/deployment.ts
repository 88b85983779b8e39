/**
 * Deployment to ReplicaSets: one for each template it has had, the newest with all replicas, the others with none, and in
 * between a rollout that keeps within maxSurge and maxUnavailable (rollout.ts).
 *
 * A replica set is named after a hash of its template, so the same template always leads to the same one, also when a
 * rollout is undone. Progress deadlines and scaling in proportion during a rollout are left out.
 */
import { greatestOf } from '../../api/index.ts';
import { appsv1, mergePatch } from '../../client/index.ts';
import {
  type ControllerDefinition,
  controllerOf,
  defineController,
  isBeingDeleted,
  type ReconcileContext,
  setCondition,
  setControllerReference,
} from '../../controller/index.ts';
import { byController } from '../pods/indexes.ts';
import { writeStatus } from '../write-status.ts';
import { hashOf } from './revisions.ts';
import { boundOf, type Generation, nextReplicas } from './rollout.ts';

const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

export const deploymentController: ControllerDefinition<appsv1.Deployment> = defineController({
  name: 'deployment-controller',
  for: appsv1.deployments,
  owns: [{ resource: appsv1.replicaSets, indexers: { byController } }],
  watches: [
    {
      resource: appsv1.replicaSets,
      map: (set, { cache }) =>
        controllerOf(set) ? undefined : cache.of(appsv1.deployments).list({ namespace: set.metadata.namespace! }),
    },
  ],
  async reconcile(deployment, context) {
    if (!deployment) return; // its replica sets are the garbage collector's business
    const owned = context.cache.of(appsv1.replicaSets).by('byController', deployment.metadata.uid);
    const sets = owned.filter((set) => !isBeingDeleted(set)).sort((a, b) => revisionOf(a) - revisionOf(b));
    const hash = hashOf(deployment.spec.template);
    const current = sets.find(({ metadata }) => metadata.labels?.[HASH_LABEL] === hash);
    let told = deployment;
    if (!isBeingDeleted(deployment) && !deployment.spec.paused) {
      if (await adoptSets(deployment, context)) return; // they come back as our own
      if (!current) await createSet(deployment, hash, sets, context);
      else told = await rollOut(deployment, current, sets, context);
    }
    await updateStatus(told, current, sets, context);
  },
});

async function adoptSets(
  deployment: appsv1.Deployment,
  { cache, client, namespace }: ReconcileContext,
): Promise<boolean> {
  const found = cache.of(appsv1.replicaSets).list({ namespace, labelSelector: deployment.spec.selector });
  const orphans = found.filter((set) => !controllerOf(set) && !isBeingDeleted(set));
  for (const orphan of orphans)
    await client.resource(appsv1.replicaSets).update(setControllerReference(deployment, orphan));
  return orphans.length > 0;
}

/** Empty at first: how fast it may grow is the rollout's decision. */
async function createSet(
  deployment: appsv1.Deployment,
  hash: string,
  sets: readonly appsv1.ReplicaSet[],
  { client, namespace }: ReconcileContext,
): Promise<void> {
  const { selector, template, minReadySeconds = 0 } = deployment.spec;
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const revision = String(1 + Math.max(0, greatestOf(sets.map(revisionOf))));
  const set = setControllerReference(deployment, {
    metadata: {
      namespace,
      name: `${deployment.metadata.name}-${hash}`,
      labels,
      annotations: { [REVISION]: revision },
    },
    spec: {
      replicas: 0,
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  });
  await client.resource(appsv1.replicaSets).create(set);
}

/** The Deployment as it is then. */
async function rollOut(
  deployment: appsv1.Deployment,
  current: appsv1.ReplicaSet,
  sets: readonly appsv1.ReplicaSet[],
  { client, recorder }: ReconcileContext,
): Promise<appsv1.Deployment> {
  const { revisionHistoryLimit = 10 } = deployment.spec;
  const old = sets.filter((set) => set !== current);
  const newest = Math.max(0, greatestOf(old.map(revisionOf)));
  if (revisionOf(current) < newest) await setRevision(current, newest + 1, client); // back to an earlier template
  const { metadata } = deployment;
  let told = deployment;
  if (metadata.annotations?.[REVISION] !== current.metadata.annotations?.[REVISION]) {
    const annotations = { ...metadata.annotations, [REVISION]: current.metadata.annotations?.[REVISION] ?? '1' };
    told = await client.resource(appsv1.deployments).update({ ...deployment, metadata: { ...metadata, annotations } });
  }
  for (const [name, replicas] of replicasNext(deployment, current, old)) {
    const before = sets.find(({ metadata }) => metadata.name === name)?.spec.replicas;
    if (before === replicas) continue;
    await client.resource(appsv1.replicaSets).patch(name, mergePatch({ spec: { replicas } }));
    recorder.normal('ScalingReplicaSet', `scaled replica set ${name} from ${before} to ${replicas}`);
  }
  const retired = old.filter(({ spec, status }) => spec.replicas === 0 && !status?.replicas);
  for (const { metadata } of retired.slice(0, Math.max(0, retired.length - revisionHistoryLimit)))
    await client.resource(appsv1.replicaSets).delete(metadata.name, { preconditions: { uid: metadata.uid } });
  return told;
}

function replicasNext(
  { spec }: appsv1.Deployment,
  current: appsv1.ReplicaSet,
  old: readonly appsv1.ReplicaSet[],
): Map<string, number> {
  const wanted = spec.replicas ?? 1;
  if (spec.strategy?.type === 'Recreate') {
    const isStopped = old.every(({ status }) => !status?.replicas);
    return new Map([
      [current.metadata.name, isStopped ? wanted : 0],
      ...old.map((set) => [set.metadata.name, 0] as const),
    ]);
  }
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
  const surge = boundOf(maxSurge, wanted, Math.ceil);
  const unavailable = boundOf(maxUnavailable, wanted, Math.floor);
  return nextReplicas({
    wanted,
    maxSurge: surge,
    maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable, // else it could never move
    current: generationOf(current),
    old: old.map(generationOf),
  });
}

async function setRevision(
  set: appsv1.ReplicaSet,
  revision: number,
  client: ReconcileContext['client'],
): Promise<void> {
  const annotations = { [REVISION]: String(revision) };
  await client.resource(appsv1.replicaSets).patch(set.metadata.name, mergePatch({ metadata: { annotations } }));
}

async function updateStatus(
  deployment: appsv1.Deployment,
  current: appsv1.ReplicaSet | undefined,
  sets: readonly appsv1.ReplicaSet[],
  { client }: ReconcileContext,
): Promise<void> {
  const { metadata, spec, status: known = {} } = deployment;
  const wanted = spec.replicas ?? 1;
  const total = (count: (set: appsv1.ReplicaSet) => number | undefined) =>
    sets.reduce((sum, set) => sum + (count(set) ?? 0), 0);
  const available = total(({ status }) => status?.availableReplicas);
  const updated = current?.status?.replicas ?? 0;
  const isComplete = updated === wanted && available === wanted && total(({ status }) => status?.replicas) === wanted;
  const isAvailable = available >= wanted - boundOf(spec.strategy?.rollingUpdate?.maxUnavailable, wanted, Math.floor);
  const conditions = setCondition(
    setCondition(known.conditions, {
      type: 'Available',
      status: isAvailable ? 'True' : 'False',
      reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
      message: `${available} of ${wanted} replicas are available`,
    }),
    {
      type: 'Progressing',
      status: 'True',
      reason: isComplete ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated',
      message: `${updated} of ${wanted} replicas have the newest template`,
    },
  );
  const status = {
    observedGeneration: metadata.generation ?? 0,
    replicas: total(({ status }) => status?.replicas),
    updatedReplicas: updated,
    readyReplicas: total(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, total(({ spec }) => spec.replicas) - available),
  };
  const counts: Partial<typeof status> = known;
  const isNews = (Object.keys(status) as (keyof typeof status)[]).some((name) => status[name] !== (counts[name] ?? 0));
  if (isNews || conditions !== known.conditions)
    await writeStatus(client.resource(appsv1.deployments), deployment, { ...status, conditions: [...conditions] });
}

function generationOf({ metadata, spec, status }: appsv1.ReplicaSet): Generation {
  return { name: metadata.name, replicas: spec.replicas ?? 1, available: status?.availableReplicas ?? 0 };
}

function revisionOf({ metadata }: appsv1.ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}
