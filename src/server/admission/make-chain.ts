/**
 * The admission plugins this server has, and the chain of those that flags and defaults choose. A name that
 * `plugin-names.ts` knows and nobody here implements can be chosen and does nothing.
 */
import type { Authorizer } from '../auth/authorizer.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { AdmissionPlugin } from './admission.ts';
import { AdmissionChain } from './admission-chain.ts';
import { choiceFaults, chosenPlugins, type PluginChoice } from './plugin-names.ts';
import { certificateApproval, certificateSigning, certificateSubjectRestriction } from './plugins/certificates.ts';
import { defaultIngressClass, defaultStorageClass } from './plugins/default-classes.ts';
import { defaultTolerationSeconds } from './plugins/default-toleration-seconds.ts';
import { limitRanger } from './plugins/limit-ranger.ts';
import { namespaceLifecycle } from './plugins/namespace-lifecycle.ts';
import { persistentVolumeClaimResize } from './plugins/persistent-volume-claim-resize.ts';
import { podTopologyLabels } from './plugins/pod-topology-labels.ts';
import { priority } from './plugins/priority.ts';
import { runtimeClass } from './plugins/runtime-class.ts';
import { serviceAccount } from './plugins/service-account.ts';
import { storageObjectInUseProtection } from './plugins/storage-object-in-use-protection.ts';
import { taintNodesByCondition } from './plugins/taint-nodes-by-condition.ts';
import { podSecurity } from './pod-security/pod-security.ts';
import { securityMetrics } from './pod-security/security-metrics.ts';

/** What plugins work with beside the write itself. */
export type AdmissionParts = {
  readonly authorizer: Authorizer;
  readonly metrics?: Metrics;
  /** Those that follow objects of the cluster, made where these are known. */
  readonly followers?: readonly AdmissionPlugin[];
};

function allPlugins({ authorizer, metrics, followers = [] }: AdmissionParts): AdmissionPlugin[] {
  return [
    namespaceLifecycle,
    limitRanger,
    serviceAccount,
    taintNodesByCondition,
    podSecurity(metrics && securityMetrics(metrics)),
    priority,
    defaultTolerationSeconds,
    defaultStorageClass,
    storageObjectInUseProtection,
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass,
    podTopologyLabels,
    ...followers,
  ];
}

export function makeAdmissionChain(choice: PluginChoice, parts: AdmissionParts): AdmissionChain {
  const [fault] = choiceFaults(choice);
  if (fault) throw new Error(`Cannot choose admission plugins: ${fault}`);
  const chosen = chosenPlugins(choice);
  return new AdmissionChain(allPlugins(parts).filter(({ name }) => chosen.has(name)));
}
