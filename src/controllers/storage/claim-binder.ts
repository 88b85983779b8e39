/**
 * Claims get their volumes: one that is there and fits, or one that is made for them. What a claim has got it keeps: if that
 * is lost, the claim says so and gets no other.
 *
 * A claim whose class waits for its consumer is bound when the scheduler has said for which node. Where nodes are only
 * pretended a Pod that uses it and has a node is enough: there the scheduler does not wait for claims.
 *
 * Left out: volumes do not grow, where they are does not count, and every provisioner is somebody else.
 */
import { corev1, storagev1 } from '../../client/index.ts';
import {
  type ControllerDefinition,
  defineController,
  isBeingDeleted,
  type Mapper,
  type ReconcileContext,
} from '../../controller/index.ts';
import {
  classOf,
  defaultClassOf,
  isDefaultClass,
  SELECTED_NODE,
  saysNoClass,
  waitsForConsumer,
} from '../pods/claim-class.ts';
import { claimNamesOf } from '../pods/pod-claims.ts';
import { isFinished } from '../pods/pod-state.ts';
import { writeStatus } from '../write-status.ts';
import { bind, isByController, wasBound } from './bind.ts';
import { provision } from './provision.ts';
import { findVolume, isMeantFor, misfitOfVolume } from './volume-match.ts';

type Claim = corev1.PersistentVolumeClaim;
type Volume = corev1.PersistentVolume;

export const BINDER = 'persistentvolume-binder-controller';
const claims = corev1.persistentVolumeClaims;
const volumes = corev1.persistentVolumes;
const [BY_VOLUME, BY_CLASS, BY_CLAIM] = ['byVolume', 'byWaitingClass', 'byClaim'] as const;

const toClaims: Mapper<Volume> = (volume, { cache }) => {
  const { claimRef } = volume.spec;
  const known = cache.of(claims);
  const asking = known.by(BY_VOLUME, volume.metadata.name);
  const wanting = claimRef ? [] : known.by(BY_CLASS, classOf(volume));
  const meant = claimRef ? known.get(`${claimRef.namespace}/${claimRef.name}`) : undefined;
  return [...asking, ...wanting, meant];
};

const toClaimsOfClass: Mapper<storagev1.StorageClass> = (storageClass, { cache }) =>
  ['', storageClass.metadata.name].flatMap((name) =>
    name === '' && !isDefaultClass(storageClass) ? [] : cache.of(claims).by(BY_CLASS, name),
  );

const toClaimsOfPod: Mapper<corev1.Pod> = (pod, { cache }) =>
  claimNamesOf(pod)
    .map((name) => cache.of(claims).get(`${pod.metadata.namespace}/${name}`))
    .filter((claim) => claim && !wasBound(claim));

/** One at a time: two that look for a volume would find the same one. */
export function claimBinder(isPretending: boolean): ControllerDefinition<Claim> {
  return defineController({
    name: BINDER,
    concurrency: 1,
    for: {
      resource: claims,
      indexers: {
        [BY_VOLUME]: ({ spec }) => [spec.volumeName],
        [BY_CLASS]: (claim) => (wasBound(claim) || claim.spec.volumeName ? [] : [classOf(claim)]),
      },
    },
    watches: [
      { resource: volumes, map: toClaims },
      { resource: storagev1.storageClasses, map: toClaimsOfClass },
      {
        resource: corev1.pods,
        indexers: {
          [BY_CLAIM]: (pod) => claimNamesOf(pod).map((name) => `${pod.metadata.namespace}/${name}`),
        },
        map: toClaimsOfPod,
      },
    ],
    async reconcile(claim, context) {
      if (!claim) return;
      if (wasBound(claim)) await keepBound(claim, context);
      else if (isBeingDeleted(claim)) return;
      else if (claim.spec.volumeName) await bindAsked(claim, claim.spec.volumeName, context);
      else await bindAny(claim, isPretending, context);
    },
  });
}

async function bindAny(claim: Claim, isPretending: boolean, context: ReconcileContext): Promise<void> {
  const { cache, recorder } = context;
  const storageClass = cache.of(storagev1.storageClasses).get(classOf(claim));
  const users = cache.of(corev1.pods).by(BY_CLAIM, context.key);
  const hasConsumer =
    claim.metadata.annotations?.[SELECTED_NODE] !== undefined ||
    (isPretending && users.some(({ spec }) => spec.nodeName));
  const isDelayed = waitsForConsumer(storageClass) && !hasConsumer;
  const found = findVolume(claim, cache.of(volumes).list(), isDelayed);
  if (found) return bind(found, claim, context);
  if (await giveDefaultClass(claim, context)) return;
  if (isDelayed) tellWhomItWaitsFor(users, context);
  else if (classOf(claim) !== '') return provision(claim, storageClass, isPretending, context);
  else recorder.normal('FailedBinding', 'no persistent volumes available for this claim and no storage class is set');
  await stayPending(claim, context);
}

/** The class may have come, or become the default, after the claim. */
async function giveDefaultClass(claim: Claim, { cache, client }: ReconcileContext): Promise<boolean> {
  const chosen = saysNoClass(claim) ? defaultClassOf(cache.of(storagev1.storageClasses).list()) : undefined;
  if (!chosen) return false;
  await client.resource(claims).update({ ...claim, spec: { ...claim.spec, storageClassName: chosen.metadata.name } });
  return true;
}

function tellWhomItWaitsFor(users: readonly corev1.Pod[], { recorder }: ReconcileContext): void {
  const names = users
    .filter((pod) => !pod.spec.nodeName && !isFinished(pod))
    .map(({ metadata }) => metadata.name)
    .sort();
  if (names.length === 0)
    recorder.normal('WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
  else {
    const pods = `${names.length > 1 ? 'pods' : 'pod'} ${names.join(',')}`;
    recorder.normal('WaitForPodScheduled', `waiting for ${pods} to be scheduled`);
  }
}

async function bindAsked(claim: Claim, name: string, context: ReconcileContext): Promise<void> {
  const { cache, recorder } = context;
  const volume = cache.of(volumes).get(name);
  if (volume && isMeantFor(volume, claim)) return bind(volume, claim, context);
  if (volume && !volume.spec.claimRef) {
    const misfit = misfitOfVolume(claim, volume);
    if (misfit === undefined) return bind(volume, claim, context);
    recorder.warning('VolumeMismatch', `Cannot bind to requested volume "${name}": ${misfit}`);
  } else if (volume && !isByController(claim))
    recorder.warning('FailedBinding', `volume "${name}" already bound to a different claim.`);
  await stayPending(claim, context);
}

/** Asked of the server before it is called lost: the claim may be known before its volume. */
async function keepBound(claim: Claim, context: ReconcileContext): Promise<void> {
  const { cache, client } = context;
  const { volumeName } = claim.spec;
  if (!volumeName)
    return lose(
      claim,
      ['ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!'],
      context,
    );
  const volume = cache.of(volumes).get(volumeName) ?? (await client.resource(volumes).find(volumeName));
  if (!volume)
    return lose(
      claim,
      ['ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'],
      context,
    );
  const { claimRef } = volume.spec;
  if (!claimRef || claimRef.uid === claim.metadata.uid) return bind(volume, claim, context);
  await lose(
    claim,
    ['ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly'],
    context,
  );
}

async function lose(
  claim: Claim,
  [reason, message]: readonly [reason: string, message: string],
  { client, recorder }: ReconcileContext,
): Promise<void> {
  if (claim.status?.phase === 'Lost') return;
  await writeStatus(client.resource(claims), claim, { phase: 'Lost', accessModes: null, capacity: null });
  recorder.warning(reason, message);
}

async function stayPending(claim: Claim, { client }: ReconcileContext): Promise<void> {
  const { phase, accessModes, capacity } = claim.status ?? {};
  if (phase === 'Pending' && !accessModes && !capacity) return;
  await writeStatus(client.resource(claims), claim, { phase: 'Pending', accessModes: null, capacity: null });
}
