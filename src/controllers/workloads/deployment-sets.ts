/**
 * The replica sets of a Deployment: which of them is of which template, what they carry of it, and how they are scaled.
 *
 * A replica set is known by its template, whatever its name; the name has a hash of that template, and of how often such a
 * name was taken by another. It carries the annotations of the Deployment, its place in the history, and how many replicas
 * there were to be when it was scaled last: one that says another number than the Deployment tells of a scaling.
 */
import { isDeepStrictEqual } from 'node:util';
import { greatestOf } from '../../api/index.ts';
import { appsv1, type corev1, isApiError, mergePatch } from '../../client/index.ts';
import { controllerOf, isBeingDeleted, type ReconcileContext, setControllerReference } from '../../controller/index.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';
import { hashOf } from './revisions.ts';
import { boundOf } from './rollout.ts';

type Deployment = appsv1.Deployment;
type ReplicaSet = appsv1.ReplicaSet;

const HASH_LABEL = 'pod-template-hash';
const PREFIX = 'deployment.kubernetes.io/';
export const REVISION: string = `${PREFIX}revision`;
const HISTORY = `${PREFIX}revision-history`;
const DESIRED = `${PREFIX}desired-replicas`;
const MOST = `${PREFIX}max-replicas`;
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Not those of the sets, but of the Deployment or of each set alone. */
const NOT_COPIED: ReadonlySet<string> = new Set([LAST_APPLIED, REVISION, HISTORY, DESIRED, MOST]);
const HISTORY_CHARACTERS = 2000;

export type Bounds = { readonly maxSurge: number; readonly maxUnavailable: number };

/** With Recreate nothing is beyond what is wanted, and all of it is. */
export function boundsOf({ spec }: Deployment): Bounds {
  const wanted = spec.replicas ?? 1;
  if (spec.strategy?.type === 'Recreate') return { maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
  const surge = boundOf(maxSurge, wanted, Math.ceil);
  const unavailable = boundOf(maxUnavailable, wanted, Math.floor);
  // Else it could never move.
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, wanted) };
}

export function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}

/** The oldest that has the Deployment's template. */
export function newestSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const template = withoutHash(deployment.spec.template);
  return [...sets]
    .sort((a, b) => ageOf(a) - ageOf(b))
    .find((set) => isDeepStrictEqual(withoutHash(set.spec.template), template));
}

function ageOf({ metadata }: ReplicaSet): number {
  return Date.parse(metadata.creationTimestamp);
}

function withoutHash(template: corev1.PodTemplateSpec | undefined): object {
  const { [HASH_LABEL]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** Whether the Deployment was scaled since they were. */
export function isScaling({ spec }: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const desired = set.metadata.annotations?.[DESIRED];
    return (set.spec.replicas ?? 0) > 0 && desired !== undefined && Number(desired) !== (spec.replicas ?? 1);
  });
}

/** What a set could grow to when it was scaled last. */
export function mostOf({ metadata }: ReplicaSet): number | undefined {
  const most = metadata.annotations?.[MOST];
  return most === undefined ? undefined : Number(most);
}

/** It has all replicas, for the number that is wanted now, and they work. */
export function isSaturated({ spec }: Deployment, set: ReplicaSet): boolean {
  const wanted = spec.replicas ?? 1;
  return (
    Number(set.metadata.annotations?.[DESIRED]) === wanted &&
    set.spec.replicas === wanted &&
    (set.status?.availableReplicas ?? 0) === wanted
  );
}

function sizeAnnotations(deployment: Deployment): Record<string, string> {
  const wanted = deployment.spec.replicas ?? 1;
  return { [DESIRED]: String(wanted), [MOST]: String(wanted + boundsOf(deployment).maxSurge) };
}

export type Made =
  | { readonly kind: 'made'; readonly set: ReplicaSet }
  /** Another has its name: with the next hash. */
  | { readonly kind: 'collided' }
  | { readonly kind: 'refused'; readonly name: string; readonly error: unknown }
  /** The namespace takes nothing any more. */
  | { readonly kind: 'going' };

export async function createSet(
  deployment: Deployment,
  replicas: number,
  sets: readonly ReplicaSet[],
  { client, namespace, recorder }: ReconcileContext,
): Promise<Made> {
  const { selector, template, minReadySeconds = 0 } = deployment.spec;
  const { collisionCount } = deployment.status ?? {};
  const hash = hashOf(collisionCount ? { ...template, collisionCount } : template);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const name = `${deployment.metadata.name}-${hash}`;
  const revision = String(1 + Math.max(0, greatestOf(sets.map(revisionOf))));
  const draft = setControllerReference(deployment, {
    metadata: {
      namespace,
      name,
      labels,
      annotations: { ...copiedFrom(deployment), ...sizeAnnotations(deployment), [REVISION]: revision },
    },
    spec: {
      replicas,
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  });
  const resource = client.resource(appsv1.replicaSets);
  try {
    const set = await resource.create(draft);
    if (replicas > 0) recorder.normal('ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`);
    return { kind: 'made', set };
  } catch (error) {
    if (isRefusedByNamespace(error)) return { kind: 'going' };
    if (!isApiError(error, 'AlreadyExists')) return { kind: 'refused', name, error };
    const there = await resource.find(name);
    const isOurs = there && controllerOf(there)?.uid === deployment.metadata.uid && newestSet(deployment, [there]);
    return isOurs && !isBeingDeleted(there) ? { kind: 'made', set: there } : { kind: 'collided' };
  }
}

function copiedFrom({ metadata }: Deployment): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !NOT_COPIED.has(key)));
}

/** What the newest set carries of the Deployment, and its place in the history; the set as it is then. */
export async function annotateNewest(
  deployment: Deployment,
  set: ReplicaSet,
  old: readonly ReplicaSet[],
  { client }: ReconcileContext,
): Promise<ReplicaSet> {
  const known = set.metadata.annotations ?? {};
  const annotations: Record<string, string> = { ...known, ...copiedFrom(deployment) };
  const newest = 1 + Math.max(0, greatestOf(old.map(revisionOf)));
  if (revisionOf(set) < newest) {
    annotations[REVISION] = String(newest);
    const before = known[REVISION]; // it comes back: what it was before is kept
    if (before !== undefined) annotations[HISTORY] = historyWith(known[HISTORY], before);
  }
  const { minReadySeconds = 0 } = deployment.spec;
  if (isDeepStrictEqual(annotations, known) && (set.spec.minReadySeconds ?? 0) === minReadySeconds) return set;
  const patch = { metadata: { annotations }, spec: { minReadySeconds } } as object;
  return client.resource(appsv1.replicaSets).patch(set.metadata.name, mergePatch<ReplicaSet>(patch));
}

function historyWith(known: string | undefined, revision: string): string {
  const all = known ? [...known.split(','), revision] : [revision];
  while (all.length > 1 && all.join(',').length > HISTORY_CHARACTERS) all.shift();
  return all.join(',');
}

/** Its size and what it carries of the Deployment's, where either is another; says so where it is the size. */
export async function scaleSet(
  deployment: Deployment,
  set: ReplicaSet,
  replicas: number,
  { client, recorder }: ReconcileContext,
): Promise<void> {
  const { metadata, spec } = set;
  const before = spec.replicas ?? 0;
  const annotations = sizeAnnotations(deployment);
  const isSame = Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value);
  if (before === replicas && isSame) return;
  const patch = { metadata: { annotations }, ...(before !== replicas && { spec: { replicas } }) } as object;
  await client.resource(appsv1.replicaSets).patch(metadata.name, mergePatch<ReplicaSet>(patch));
  if (before === replicas) return;
  const direction = before < replicas ? 'up' : 'down';
  recorder.normal(
    'ScalingReplicaSet',
    `Scaled ${direction} replica set ${metadata.name} from ${before} to ${replicas}`,
  );
}

/** Old ones that stand for nothing any more, beyond as many as are to be kept for going back. */
export async function forgetOld(
  { spec }: Deployment,
  old: readonly ReplicaSet[],
  { client }: ReconcileContext,
): Promise<void> {
  const { revisionHistoryLimit = 10 } = spec;
  const alive = old.filter((set) => !isBeingDeleted(set)).sort((a, b) => revisionOf(a) - revisionOf(b));
  for (const { metadata, spec, status } of alive.slice(0, Math.max(0, alive.length - revisionHistoryLimit))) {
    const isIdle = spec.replicas === 0 && !status?.replicas;
    if (isIdle && (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0))
      await client.resource(appsv1.replicaSets).delete(metadata.name, { preconditions: { uid: metadata.uid } });
  }
}
