/**
 * The members of a StatefulSet: Pods with names, each with claims of its own that stay when it goes, unless the set says
 * otherwise (`persistentVolumeClaimRetentionPolicy`): then they belong to the set, or to the Pod once it is one too many, and
 * the garbage collector takes them.
 */
import { type appsv1, corev1, type Draft, isApiError } from '../../client/index.ts';
import { isBeingDeleted, type ReconcileContext, setControllerReference } from '../../controller/index.ts';
import { createPod, messageOf, podFrom } from '../pods/own-pods.ts';
import { isRefusedByNamespace } from '../refused-by-namespace.ts';
import { labelOf, REVISION_LABEL, templateOf } from './revisions.ts';

type StatefulSet = appsv1.StatefulSet;

/** -1: no Pod that the set would have made. */
export function ordinalOf({ metadata }: StatefulSet, pod: corev1.Pod): number {
  if (!pod.metadata.name.startsWith(`${metadata.name}-`)) return -1;
  const rest = pod.metadata.name.slice(metadata.name.length + 1);
  return /^(0|[1-9][0-9]*)$/.test(rest) ? Number(rest) : -1;
}

function isInRange({ spec }: StatefulSet, ordinal: number): boolean {
  const start = spec.ordinals?.start ?? 0;
  return ordinal >= start && ordinal < start + (spec.replicas ?? 1);
}

/** Its claims first: a Pod without them could not start. False: not now. */
export async function createMember(
  set: StatefulSet,
  ordinal: number,
  revision: string,
  context: ReconcileContext,
): Promise<boolean> {
  const { template, serviceName } = set.spec;
  const name = `${set.metadata.name}-${ordinal}`;
  const { recorder } = context;
  const failed = (what: string, err: unknown) =>
    recorder.warning(
      'FailedCreate',
      `create ${what} in StatefulSet ${set.metadata.name} failed error: ${messageOf(err)}`,
    );
  const volumes: corev1.Volume[] = [];
  for (const [volume, draft] of claimsOf(set, name, context)) {
    const claimName = draft.metadata!.name!;
    volumes.push({ name: volume, persistentVolumeClaim: { claimName } });
    try {
      await context.client.resource(corev1.persistentVolumeClaims).create(draft);
      const text = `create Claim ${claimName} Pod ${name} in StatefulSet ${set.metadata.name} success`;
      recorder.normal('SuccessfulCreate', text);
    } catch (err) {
      if (isApiError(err, 'AlreadyExists')) continue;
      if (isRefusedByNamespace(err)) return false;
      failed(`Claim ${claimName} for Pod ${name}`, err);
      throw err;
    }
  }
  const from = templateOf(set, revision, context) ?? template;
  const own = (from.spec?.volumes ?? []).filter((volume) => !volumes.some((one) => one.name === volume.name));
  const draft = podFrom(from, {
    name,
    labels: {
      'statefulset.kubernetes.io/pod-name': name,
      'apps.kubernetes.io/pod-index': String(ordinal),
      [REVISION_LABEL]: labelOf(set, revision),
    },
    spec: { hostname: name, ...(serviceName && { subdomain: serviceName }), volumes: [...own, ...volumes] },
  });
  try {
    await createPod(set, draft, context);
    recorder.normal('SuccessfulCreate', `create Pod ${name} in StatefulSet ${set.metadata.name} successful`);
    return true;
  } catch (err) {
    // Somebody else's, or ours that the cache has not seen; or nothing is taken any more.
    if (isApiError(err, 'AlreadyExists') || isRefusedByNamespace(err)) return false;
    failed(`Pod ${name}`, err);
    throw err;
  }
}

/** By the volume they are for. */
function claimsOf(
  set: StatefulSet,
  pod: string,
  { namespace }: ReconcileContext,
): (readonly [volume: string, claim: Draft<corev1.PersistentVolumeClaim>])[] {
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata, spec }) => {
    const labels = { ...metadata?.labels, ...set.spec.selector.matchLabels };
    const named = { ...metadata, name: `${metadata?.name}-${pod}`, namespace, labels };
    return [metadata?.name ?? '', { metadata: named, spec: spec ?? {} }];
  });
}

export async function deleteMember(set: StatefulSet, pod: corev1.Pod, context: ReconcileContext): Promise<void> {
  const { name, uid } = pod.metadata;
  const { recorder } = context;
  const text = `delete Pod ${name} in StatefulSet ${set.metadata.name}`;
  try {
    await context.client.resource(corev1.pods).delete(name, { preconditions: { uid } });
    recorder.normal('SuccessfulDelete', `${text} successful`);
  } catch (err) {
    if (isApiError(err, 'NotFound')) return;
    recorder.warning('FailedDelete', `${text} failed error: ${messageOf(err)}`);
    throw err;
  }
}

/** Whose the claims of a member are, as the set has it now. */
export async function giveClaims(set: StatefulSet, pod: corev1.Pod, context: ReconcileContext): Promise<void> {
  const { cache, client, namespace } = context;
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const isTooMany = !isInRange(set, ordinalOf(set, pod));
  const owner = isTooMany && whenScaled === 'Delete' ? pod : whenDeleted === 'Delete' ? set : undefined;
  for (const [, { metadata }] of claimsOf(set, pod.metadata.name, context)) {
    const claim = cache.of(corev1.persistentVolumeClaims).get(`${namespace}/${metadata!.name}`);
    if (!claim || isBeingDeleted(claim)) continue;
    const known = claim.metadata.ownerReferences ?? [];
    const others = known.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid);
    const isOthers = others.some(({ controller }) => controller);
    const mine = known.filter(({ uid }) => uid === set.metadata.uid || uid === pod.metadata.uid);
    const wanted = isOthers ? undefined : owner;
    const isSo = wanted
      ? mine.length === 1 && mine[0]!.uid === wanted.metadata.uid && mine[0]!.controller
      : mine.length === 0;
    if (isSo) continue;
    const scrubbed = { ...claim, metadata: { ...claim.metadata, ownerReferences: others } };
    await client
      .resource(corev1.persistentVolumeClaims)
      .update(wanted ? setControllerReference(wanted, scrubbed) : scrubbed);
  }
}
