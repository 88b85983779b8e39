/**
 * The admission plugins this server has, and the chain of those that flags and defaults choose.
 *
 * To enable one that kube-apiserver has and this server has not is refused: who enables it relies on it. Those that are on
 * by default there and absent here have nothing to do here.
 */
import { type Authorizer, alwaysAllow } from '../auth/authorizer.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { AdmissionPlugin } from './admission.ts';
import { AdmissionChain } from './admission-chain.ts';
import { admissionMetrics } from './admission-metrics.ts';
import { choiceFaults, chosenPlugins, defaultPlugins, type PluginChoice } from './plugin-names.ts';
import { alwaysAdmit, alwaysDeny } from './plugins/always.ts';
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './plugins/certificates.ts';
import { defaultIngressClass, defaultStorageClass } from './plugins/default-classes.ts';
import { denyServiceExternalIps } from './plugins/deny-service-external-ips.ts';
import { limitRanger } from './plugins/limit-ranger/limit-ranger.ts';
import { namespaceExists } from './plugins/namespace-exists.ts';
import { namespaceLifecycle } from './plugins/namespace-lifecycle.ts';
import { ownerReferences, type ResourceOfKind } from './plugins/owner-references.ts';
import { persistentVolumeClaimResize } from './plugins/persistent-volume-claim-resize.ts';
import { alwaysPullImages } from './plugins/pods/always-pull-images.ts';
import { defaultTolerationSeconds } from './plugins/pods/default-toleration-seconds.ts';
import { extendedResourceToleration } from './plugins/pods/extended-resource-toleration.ts';
import { limitPodHardAntiAffinityTopology } from './plugins/pods/limit-pod-hard-anti-affinity-topology.ts';
import { podNodeSelector } from './plugins/pods/pod-node-selector.ts';
import { podTolerationRestriction } from './plugins/pods/pod-toleration-restriction.ts';
import { podTopologyLabels } from './plugins/pods/pod-topology-labels.ts';
import { priority } from './plugins/pods/priority.ts';
import { runtimeClass } from './plugins/pods/runtime-class.ts';
import { serviceAccount } from './plugins/pods/service-account.ts';
import { storageObjectInUseProtection } from './plugins/storage-object-in-use-protection.ts';
import { taintNodesByCondition } from './plugins/taint-nodes-by-condition.ts';
import { podSecurity } from './pod-security/pod-security.ts';
import { securityMetrics } from './pod-security/security-metrics.ts';

/** Made where the objects that they follow are known, and given to the chain. */
const FOLLOWERS = [
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

/** What plugins work with beside the write itself. */
export type AdmissionParts = {
  readonly authorizer: Authorizer;
  readonly metrics?: Metrics;
  /** None, if it is not given. */
  readonly resourceOf?: ResourceOfKind;
  /** Those that follow objects of the cluster, made where these are known. */
  readonly followers?: readonly AdmissionPlugin[];
};

function allPlugins({ authorizer, metrics, resourceOf, followers = [] }: AdmissionParts): AdmissionPlugin[] {
  return [
    alwaysAdmit,
    namespaceLifecycle,
    namespaceExists,
    limitPodHardAntiAffinityTopology,
    limitRanger,
    serviceAccount,
    taintNodesByCondition,
    alwaysPullImages,
    podSecurity(metrics && securityMetrics(metrics)),
    podNodeSelector,
    priority,
    defaultTolerationSeconds,
    podTolerationRestriction,
    extendedResourceToleration,
    defaultStorageClass,
    storageObjectInUseProtection,
    ownerReferences(authorizer, resourceOf ?? (() => undefined)),
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass,
    denyServiceExternalIps,
    podTopologyLabels,
    ...followers,
    alwaysDeny,
  ];
}

export function makeAdmissionChain(choice: PluginChoice, parts: AdmissionParts): AdmissionChain {
  const [fault] = choiceFaults(choice);
  if (fault) throw new Error(`Cannot choose admission plugins: ${fault}`);
  const stranger = parts.followers?.find(({ name }) => !FOLLOWERS.includes(name));
  if (stranger) throw new Error(`Cannot add admission plugin ${JSON.stringify(stranger.name)}: nobody knows of it`);
  const plugins = allPlugins(parts);
  const absent = choice.enabled?.find(
    (name) => !defaultPlugins.includes(name) && !plugins.some((plugin) => plugin.name === name),
  );
  if (absent) throw new Error(`Cannot enable admission plugin ${JSON.stringify(absent)}: this server does not have it`);
  const chosen = chosenPlugins(choice);
  const observer = parts.metrics && admissionMetrics(parts.metrics);
  return new AdmissionChain(
    plugins.filter(({ name }) => chosen.has(name)),
    observer,
  );
}

/** The names of all plugins that can act, for the documents. */
export function implementedPlugins(): string[] {
  return [...allPlugins({ authorizer: alwaysAllow }).map(({ name }) => name), ...FOLLOWERS];
}
