/**
 * The one door to the strategies of the kinds: which resource has which.
 *
 * A kind that is not in the table has nothing beyond what all kinds share. Whatever the kind, a status that belongs
 * to a subresource starts afresh on create, whatever the writer sent; kinds that decide otherwise say so in the table.
 */
import type { JsonObject } from '../../api/index.ts';
import { customStrategyOf } from '../apiextensions/custom-strategy.ts';
import { definitionStrategy } from '../apiextensions/definition-strategy.ts';
import { checkObject, cloneJson } from '../codec/index.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import { noStrategy, type Strategy } from '../strategy/strategy.ts';
import * as policies from './admissionregistration/policies.ts';
import * as policyBindings from './admissionregistration/policy-bindings.ts';
import * as webhooks from './admissionregistration/webhooks.ts';
import { apiServiceStrategy } from './apiregistration/api-services.ts';
import { autoscalerStrategy, oldAutoscalerStrategy } from './autoscaling/autoscalers.ts';
import { certificateRequestStrategy } from './certificates/certificate-requests.ts';
import * as administration from './coordination/leases.ts';
import { configMapStrategy, secretStrategy } from './core/config.ts';
import { coreEventStrategy, newEventStrategy } from './core/events.ts';
import { limitRangeStrategy } from './core/limit-ranges.ts';
import { namespaceStrategy } from './core/namespaces.ts';
import { nodeStrategy } from './core/nodes.ts';
import { resourceQuotaStrategy } from './core/resource-quotas.ts';
import { serviceAccountStrategy } from './core/service-accounts.ts';
import { flowSchemaStrategy } from './flowcontrol/flow-schemas.ts';
import { priorityLevelStrategy } from './flowcontrol/priority-levels.ts';
import { endpointSliceStrategy, endpointsStrategy } from './networking/endpoints.ts';
import { ingressClassStrategy, ingressStrategy } from './networking/ingresses.ts';
import { networkPolicyStrategy } from './networking/network-policies.ts';
import { ipAddressStrategy, serviceCidrStrategy } from './networking/service-ranges.ts';
import { runtimeClassStrategy } from './node/runtime-classes.ts';
import { podStrategy } from './pods/pods.ts';
import { disruptionBudgetStrategy } from './policy/disruption-budgets.ts';
import * as rbac from './rbac/roles.ts';
import { deviceClassStrategy, resourceClaimStrategy, resourceClaimTemplateStrategy } from './resources/claims.ts';
import { resourceSliceStrategy } from './resources/slices.ts';
import { priorityClassStrategy } from './scheduling/priority-classes.ts';
import { serviceStrategy } from './services/services.ts';
import * as csi from './storage/csi.ts';
import { persistentVolumeClaimStrategy } from './storage/persistent-volume-claims.ts';
import { persistentVolumeStrategy } from './storage/persistent-volumes.ts';
import { storageClassStrategy, volumeAttributesClassStrategy } from './storage/storage-classes.ts';
import { controllerRevisionStrategy } from './workloads/controller-revisions.ts';
import { cronJobStrategy } from './workloads/cron-jobs.ts';
import { jobStrategy } from './workloads/jobs.ts';
import * as replicaSets from './workloads/replica-sets.ts';
import * as sets from './workloads/sets.ts';

const table: Readonly<Record<string, Strategy>> = {
  configmaps: configMapStrategy,
  endpoints: endpointsStrategy,
  events: coreEventStrategy,
  limitranges: limitRangeStrategy,
  namespaces: namespaceStrategy,
  nodes: nodeStrategy,
  persistentvolumeclaims: persistentVolumeClaimStrategy,
  persistentvolumes: persistentVolumeStrategy,
  pods: podStrategy,
  podtemplates: replicaSets.podTemplateStrategy,
  replicationcontrollers: replicaSets.replicationControllerStrategy,
  resourcequotas: resourceQuotaStrategy,
  secrets: secretStrategy,
  serviceaccounts: serviceAccountStrategy,
  services: serviceStrategy,

  'mutatingadmissionpolicies.admissionregistration.k8s.io': policies.mutatingPolicyStrategy,
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindings.mutatingPolicyBindingStrategy,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks.mutatingWebhookStrategy,
  'validatingadmissionpolicies.admissionregistration.k8s.io': policies.validatingPolicyStrategy,
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': policyBindings.validatingPolicyBindingStrategy,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks.validatingWebhookStrategy,
  'apiservices.apiregistration.k8s.io': apiServiceStrategy,

  'controllerrevisions.apps': controllerRevisionStrategy,
  'daemonsets.apps': sets.daemonSetStrategy,
  'deployments.apps': replicaSets.deploymentStrategy,
  'replicasets.apps': replicaSets.replicaSetStrategy,
  'statefulsets.apps': sets.statefulSetStrategy,
  'horizontalpodautoscalers.autoscaling': autoscalerStrategy,
  'cronjobs.batch': cronJobStrategy,
  'jobs.batch': jobStrategy,
  'certificatesigningrequests.certificates.k8s.io': certificateRequestStrategy,
  'leases.coordination.k8s.io': administration.leaseStrategy,
  'endpointslices.discovery.k8s.io': endpointSliceStrategy,
  'events.events.k8s.io': newEventStrategy,
  'flowschemas.flowcontrol.apiserver.k8s.io': flowSchemaStrategy,
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': priorityLevelStrategy,
  'ingressclasses.networking.k8s.io': ingressClassStrategy,
  'ingresses.networking.k8s.io': ingressStrategy,
  'ipaddresses.networking.k8s.io': ipAddressStrategy,
  'servicecidrs.networking.k8s.io': serviceCidrStrategy,
  'networkpolicies.networking.k8s.io': networkPolicyStrategy,
  'runtimeclasses.node.k8s.io': runtimeClassStrategy,
  'poddisruptionbudgets.policy': disruptionBudgetStrategy,
  'clusterrolebindings.rbac.authorization.k8s.io': rbac.clusterRoleBindingStrategy,
  'clusterroles.rbac.authorization.k8s.io': rbac.clusterRoleStrategy,
  'rolebindings.rbac.authorization.k8s.io': rbac.roleBindingStrategy,
  'roles.rbac.authorization.k8s.io': rbac.roleStrategy,
  'deviceclasses.resource.k8s.io': deviceClassStrategy,
  'resourceclaims.resource.k8s.io': resourceClaimStrategy,
  'resourceclaimtemplates.resource.k8s.io': resourceClaimTemplateStrategy,
  'resourceslices.resource.k8s.io': resourceSliceStrategy,
  'priorityclasses.scheduling.k8s.io': priorityClassStrategy,
  'csidrivers.storage.k8s.io': csi.csiDriverStrategy,
  'csinodes.storage.k8s.io': csi.csiNodeStrategy,
  'csistoragecapacities.storage.k8s.io': csi.csiStorageCapacityStrategy,
  'storageclasses.storage.k8s.io': storageClassStrategy,
  'volumeattachments.storage.k8s.io': csi.volumeAttachmentStrategy,
  'volumeattributesclasses.storage.k8s.io': volumeAttributesClassStrategy,
};

/** Kubelets register a node with its status; pods decide for themselves what is left of it. */
const keepsStatus: ReadonlySet<string> = new Set(['nodes', 'pods']);

const definitions = 'customresourcedefinitions.apiextensions.k8s.io';

const known = new WeakMap<Resource, Strategy>();

export function strategyOf(resource: Resource): Strategy {
  let strategy = known.get(resource);
  if (!strategy) {
    strategy = makeStrategy(resource);
    known.set(resource, strategy);
  }
  return strategy;
}

function makeStrategy(resource: Resource): Strategy {
  const name = qualifiedName(resource);
  if (resource.isCustom) return customStrategyOf(resource);
  if (name === definitions) return definitionStrategy;
  const isOldAutoscaler = resource.group === 'autoscaling' && resource.version === 'v1';
  const strategy = isOldAutoscaler ? oldAutoscalerStrategy : (table[name] ?? noStrategy);
  const hasStatus = resource.subresources.some((one) => one.name === 'status');
  if (!hasStatus || keepsStatus.has(name)) return strategy;
  const fresh = freshStatus(resource);
  return {
    ...strategy,
    prepareCreate: (object, context) => {
      object.status = cloneJson(fresh);
      return strategy.prepareCreate?.(object, context);
    },
  };
}

/** A status nobody has written to: what its type always writes. */
function freshStatus({ schema }: Resource): JsonObject {
  const type = schema.properties?.get('status');
  return type ? checkObject({}, type).object : {};
}
