/**
 * The one door to the rules of the kinds: which resource has which.
 *
 * A kind that is not in the table has no rules beyond those all kinds share. Whatever the kind, a status that belongs
 * to a subresource starts afresh on create, whatever the writer sent; kinds that decide otherwise say so in the table.
 */
import type { JsonObject } from '../../api/index.ts';
import { customRulesOf } from '../apiextensions/custom-rules.ts';
import { definitionRules } from '../apiextensions/definition-rules.ts';
import { checkObject, cloneJson } from '../codec/index.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import { type KindRules, noRules } from '../strategy/strategy.ts';
import * as policies from './admissionregistration/policies.ts';
import * as policyBindings from './admissionregistration/policy-bindings.ts';
import * as webhooks from './admissionregistration/webhooks.ts';
import { apiServiceRules } from './apiregistration/api-services.ts';
import { autoscalerRules, oldAutoscalerRules } from './autoscaling/autoscalers.ts';
import { certificateRequestRules } from './certificates/certificate-requests.ts';
import * as administration from './coordination/leases.ts';
import { configMapRules, secretRules } from './core/config.ts';
import { coreEventRules, newEventRules } from './core/events.ts';
import { limitRangeRules } from './core/limit-ranges.ts';
import { namespaceRules } from './core/namespaces.ts';
import { nodeRules } from './core/nodes.ts';
import { resourceQuotaRules } from './core/resource-quotas.ts';
import { serviceAccountRules } from './core/service-accounts.ts';
import { flowSchemaRules } from './flowcontrol/flow-schemas.ts';
import { priorityLevelRules } from './flowcontrol/priority-levels.ts';
import { endpointSliceRules, endpointsRules } from './networking/endpoints.ts';
import { ingressClassRules, ingressRules } from './networking/ingresses.ts';
import { networkPolicyRules } from './networking/network-policies.ts';
import { ipAddressRules, serviceCidrRules } from './networking/service-ranges.ts';
import { runtimeClassRules } from './node/runtime-classes.ts';
import { podRules } from './pods/pods.ts';
import { disruptionBudgetRules } from './policy/disruption-budgets.ts';
import * as rbac from './rbac/roles.ts';
import { deviceClassRules, resourceClaimRules, resourceClaimTemplateRules } from './resources/claims.ts';
import { resourceSliceRules } from './resources/slices.ts';
import { priorityClassRules } from './scheduling/priority-classes.ts';
import { serviceRules } from './services/services.ts';
import * as csi from './storage/csi.ts';
import { persistentVolumeClaimRules } from './storage/persistent-volume-claims.ts';
import { persistentVolumeRules } from './storage/persistent-volumes.ts';
import { storageClassRules, volumeAttributesClassRules } from './storage/storage-classes.ts';
import { controllerRevisionRules } from './workloads/controller-revisions.ts';
import { cronJobRules } from './workloads/cron-jobs.ts';
import { jobRules } from './workloads/jobs.ts';
import * as replicaSets from './workloads/replica-sets.ts';
import * as sets from './workloads/sets.ts';

const table: Readonly<Record<string, KindRules>> = {
  configmaps: configMapRules,
  endpoints: endpointsRules,
  events: coreEventRules,
  limitranges: limitRangeRules,
  namespaces: namespaceRules,
  nodes: nodeRules,
  persistentvolumeclaims: persistentVolumeClaimRules,
  persistentvolumes: persistentVolumeRules,
  pods: podRules,
  podtemplates: replicaSets.podTemplateRules,
  replicationcontrollers: replicaSets.replicationControllerRules,
  resourcequotas: resourceQuotaRules,
  secrets: secretRules,
  serviceaccounts: serviceAccountRules,
  services: serviceRules,

  'mutatingadmissionpolicies.admissionregistration.k8s.io': policies.mutatingPolicyRules,
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindings.mutatingPolicyBindingRules,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks.mutatingWebhookRules,
  'validatingadmissionpolicies.admissionregistration.k8s.io': policies.validatingPolicyRules,
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindings.validatingPolicyBindingRules,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks.validatingWebhookRules,
  'apiservices.apiregistration.k8s.io': apiServiceRules,

  'controllerrevisions.apps': controllerRevisionRules,
  'daemonsets.apps': sets.daemonSetRules,
  'deployments.apps': replicaSets.deploymentRules,
  'replicasets.apps': replicaSets.replicaSetRules,
  'statefulsets.apps': sets.statefulSetRules,
  'horizontalpodautoscalers.autoscaling': autoscalerRules,
  'cronjobs.batch': cronJobRules,
  'jobs.batch': jobRules,
  'certificatesigningrequests.certificates.k8s.io': certificateRequestRules,
  'leases.coordination.k8s.io': administration.leaseRules,
  'endpointslices.discovery.k8s.io': endpointSliceRules,
  'events.events.k8s.io': newEventRules,
  'flowschemas.flowcontrol.apiserver.k8s.io': flowSchemaRules,
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': priorityLevelRules,
  'ingressclasses.networking.k8s.io': ingressClassRules,
  'ingresses.networking.k8s.io': ingressRules,
  'ipaddresses.networking.k8s.io': ipAddressRules,
  'servicecidrs.networking.k8s.io': serviceCidrRules,
  'networkpolicies.networking.k8s.io': networkPolicyRules,
  'runtimeclasses.node.k8s.io': runtimeClassRules,
  'poddisruptionbudgets.policy': disruptionBudgetRules,
  'clusterrolebindings.rbac.authorization.k8s.io': rbac.clusterRoleBindingRules,
  'clusterroles.rbac.authorization.k8s.io': rbac.clusterRoleRules,
  'rolebindings.rbac.authorization.k8s.io': rbac.roleBindingRules,
  'roles.rbac.authorization.k8s.io': rbac.roleRules,
  'deviceclasses.resource.k8s.io': deviceClassRules,
  'resourceclaims.resource.k8s.io': resourceClaimRules,
  'resourceclaimtemplates.resource.k8s.io': resourceClaimTemplateRules,
  'resourceslices.resource.k8s.io': resourceSliceRules,
  'priorityclasses.scheduling.k8s.io': priorityClassRules,
  'csidrivers.storage.k8s.io': csi.csiDriverRules,
  'csinodes.storage.k8s.io': csi.csiNodeRules,
  'csistoragecapacities.storage.k8s.io': csi.csiStorageCapacityRules,
  'storageclasses.storage.k8s.io': storageClassRules,
  'volumeattachments.storage.k8s.io': csi.volumeAttachmentRules,
  'volumeattributesclasses.storage.k8s.io': volumeAttributesClassRules,
};

/** Kubelets register a node with its status; pods decide for themselves what is left of it. */
const keepsStatus: ReadonlySet<string> = new Set(['nodes', 'pods']);

const definitions = 'customresourcedefinitions.apiextensions.k8s.io';

const known = new WeakMap<Resource, KindRules>();

export function rulesOf(resource: Resource): KindRules {
  let rules = known.get(resource);
  if (!rules) {
    rules = makeRules(resource);
    known.set(resource, rules);
  }
  return rules;
}

function makeRules(resource: Resource): KindRules {
  const name = qualifiedName(resource);
  if (resource.isCustom) return customRulesOf(resource);
  if (name === definitions) return definitionRules;
  const isOldAutoscaler = resource.group === 'autoscaling' && resource.version === 'v1';
  const rules = isOldAutoscaler ? oldAutoscalerRules : (table[name] ?? noRules);
  const hasStatus = resource.subresources.some((one) => one.name === 'status');
  if (!hasStatus || keepsStatus.has(name)) return rules;
  const fresh = freshStatus(resource);
  return {
    ...rules,
    prepareCreate: (object, context) => {
      object.status = cloneJson(fresh);
      return rules.prepareCreate?.(object, context);
    },
  };
}

/** A status nobody has written to: what its type always writes. */
function freshStatus({ schema }: Resource): JsonObject {
  const type = schema.properties?.get('status');
  return type ? checkObject({}, type).object : {};
}
