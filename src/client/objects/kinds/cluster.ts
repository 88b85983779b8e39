/** What holds a cluster together: leases, ways in, rules, custom definitions. */
import type { LabelSelectorObject } from '../../../api/index.ts';
import { defineResourceOf, type Resource } from '../define-resource.ts';
import type { AnyObject, ApiObject, Condition, Open, UnknownFields } from '../objects.ts';

export type Lease = AnyObject & {
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
    strategy?: string;
    preferredHolder?: string;
  };
};

export type IngressBackend = {
  service?: { name: string; port?: { name?: string; number?: number } };
  resource?: { apiGroup?: string; kind: string; name: string };
};

export type Ingress = ApiObject<
  Open<{
    ingressClassName?: string;
    defaultBackend?: IngressBackend;
    tls?: { hosts?: string[]; secretName?: string }[];
    rules?: {
      host?: string;
      http?: {
        paths: { path?: string; pathType: 'Exact' | 'Prefix' | 'ImplementationSpecific'; backend: IngressBackend }[];
      };
    }[];
  }>,
  Open<{ loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }>
>;

export type NetworkPolicy = AnyObject & {
  spec: Open<{
    podSelector?: LabelSelectorObject;
    policyTypes?: ('Ingress' | 'Egress')[];
    ingress?: UnknownFields[];
    egress?: UnknownFields[];
  }>;
};

export type EndpointSlice = AnyObject & {
  addressType: 'IPv4' | 'IPv6' | 'FQDN';
  endpoints: Open<{
    addresses: string[];
    conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
    nodeName?: string;
    targetRef?: { kind?: string; namespace?: string; name?: string; uid?: string };
  }>[];
  ports?: { name?: string; port?: number; protocol?: string; appProtocol?: string }[];
};

export type PodDisruptionBudget = ApiObject<
  Open<{ minAvailable?: number | string; maxUnavailable?: number | string; selector?: LabelSelectorObject }>,
  Open<{ currentHealthy: number; desiredHealthy: number; disruptionsAllowed: number; expectedPods: number }>
>;

export type PolicyRule = {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
};
export type Subject = {
  kind: 'User' | 'Group' | 'ServiceAccount';
  name: string;
  namespace?: string;
  apiGroup?: string;
};
export type RoleRef = { apiGroup: string; kind: 'Role' | 'ClusterRole'; name: string };

export type Role = AnyObject & { rules: PolicyRule[] | null };
export type ClusterRole = Role & { aggregationRule?: UnknownFields };
export type RoleBinding = AnyObject & { roleRef: RoleRef; subjects?: Subject[] };
export type ClusterRoleBinding = RoleBinding;

export type CustomResourceDefinition = ApiObject<
  Open<{
    group: string;
    scope: 'Namespaced' | 'Cluster';
    names: Open<{ plural: string; kind: string; singular?: string; listKind?: string; shortNames?: string[] }>;
    versions: Open<{
      name: string;
      served: boolean;
      storage: boolean;
      schema?: { openAPIV3Schema?: UnknownFields };
      subresources?: UnknownFields;
      additionalPrinterColumns?: UnknownFields[];
    }>[];
  }>,
  Open<{ conditions?: Condition[]; storedVersions?: string[] }>
>;

const access = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const networking = { group: 'networking.k8s.io', version: 'v1', isNamespaced: true };

export const leases: Resource<Lease> = defineResourceOf({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  isNamespaced: true,
});
export const ingresses: Resource<Ingress> = defineResourceOf({ ...networking, plural: 'ingresses', kind: 'Ingress' });
export const networkPolicies: Resource<NetworkPolicy> = defineResourceOf({
  ...networking,
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
});
export const endpointSlices: Resource<EndpointSlice> = defineResourceOf({
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  isNamespaced: true,
});
export const podDisruptionBudgets: Resource<PodDisruptionBudget> = defineResourceOf({
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  isNamespaced: true,
});
export const roles: Resource<Role> = defineResourceOf({ ...access, plural: 'roles', kind: 'Role', isNamespaced: true });
export const roleBindings: Resource<RoleBinding> = defineResourceOf({
  ...access,
  plural: 'rolebindings',
  kind: 'RoleBinding',
  isNamespaced: true,
});
export const clusterRoles: Resource<ClusterRole> = defineResourceOf({
  ...access,
  plural: 'clusterroles',
  kind: 'ClusterRole',
  isNamespaced: false,
});
export const clusterRoleBindings: Resource<ClusterRoleBinding> = defineResourceOf({
  ...access,
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  isNamespaced: false,
});
export const customResourceDefinitions: Resource<CustomResourceDefinition> = defineResourceOf({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  isNamespaced: false,
});
