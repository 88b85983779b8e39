/**
 * Volumes made for claims. By others: they are told which claims are theirs, and nothing more is done. Where nodes are only
 * pretended there are no others, and neither is anything stored: a volume is made at once, of a path that says so, whoever
 * the class says makes them.
 */
import { corev1, isApiError, type storagev1 } from '../../client/index.ts';
import type { ReconcileContext } from '../../controller/index.ts';
import { classOf } from '../pods/claim-class.ts';
import { BY_CONTROLLER, PROVISIONED_BY, referenceTo } from './bind.ts';

type Claim = corev1.PersistentVolumeClaim;

const NOBODY = 'kubernetes.io/no-provisioner';
const PROVISIONERS = ['volume.beta.kubernetes.io/storage-provisioner', 'volume.kubernetes.io/storage-provisioner'];
/** Where nothing is. */
const PRETENDED = '/pretended/';

export async function provision(
  claim: Claim,
  storageClass: storagev1.StorageClass | undefined,
  isPretending: boolean,
  context: ReconcileContext,
): Promise<void> {
  const { recorder } = context;
  if (!storageClass) {
    recorder.warning('ProvisioningFailed', `storageclass.storage.k8s.io "${classOf(claim)}" not found`);
    return;
  }
  const { provisioner } = storageClass;
  if (provisioner === NOBODY) {
    recorder.warning('ProvisioningFailed', `no volume plugin matched name: ${NOBODY}`);
    return;
  }
  const told = await tellProvisioner(claim, provisioner, context);
  if (isPretending) await pretend(told, storageClass, context);
  else
    recorder.normal(
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    );
}

/** Whether it was made here: then it is also ours to delete. */
export function isPretended({ metadata, spec }: corev1.PersistentVolume): boolean {
  const isMade = metadata.annotations?.[PROVISIONED_BY] !== undefined;
  return isMade && spec.hostPath?.path === `${PRETENDED}${metadata.name}`;
}

async function tellProvisioner(claim: Claim, provisioner: string, { client }: ReconcileContext): Promise<Claim> {
  const known = claim.metadata.annotations;
  if (PROVISIONERS.every((annotation) => known?.[annotation] === provisioner)) return claim;
  const annotations = { ...known, ...Object.fromEntries(PROVISIONERS.map((one) => [one, provisioner])) };
  return client
    .resource(corev1.persistentVolumeClaims)
    .update({ ...claim, metadata: { ...claim.metadata, annotations } });
}

/** Binding comes when the volume is seen: so it also goes on if we end here. */
async function pretend(
  claim: Claim,
  storageClass: storagev1.StorageClass,
  { client, recorder }: ReconcileContext,
): Promise<void> {
  const name = `pvc-${claim.metadata.uid}`;
  const { accessModes = [], volumeMode = 'Filesystem', volumeAttributesClassName, resources, selector } = claim.spec;
  const { provisioner, mountOptions, reclaimPolicy = 'Delete' } = storageClass;
  if (selector) {
    recorder.warning('ProvisioningFailed', 'claim Selector is not supported');
    return;
  }
  try {
    await client.resource(corev1.persistentVolumes).create({
      metadata: { name, annotations: { [BY_CONTROLLER]: 'yes', [PROVISIONED_BY]: provisioner } },
      spec: {
        ...{ accessModes, volumeMode, storageClassName: classOf(claim) },
        capacity: { storage: resources?.requests?.storage ?? '0' },
        claimRef: referenceTo(claim),
        persistentVolumeReclaimPolicy: reclaimPolicy,
        hostPath: { path: `${PRETENDED}${name}` },
        ...(mountOptions && { mountOptions }),
        ...(volumeAttributesClassName !== undefined && { volumeAttributesClassName }),
      },
    });
  } catch (err) {
    if (isApiError(err, 'AlreadyExists')) return; // by us, and the cache has not seen it
    throw err;
  }
  recorder.normal('ProvisioningSucceeded', `Successfully provisioned volume ${name} using ${provisioner}`);
}
