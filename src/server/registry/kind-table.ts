/**
 * What sets one built-in kind apart from another, as data. Keyed by `qualifiedName`; a kind that is not here, or says
 * nothing about something, is like most: stored under its plural, updated without conditions, never created by an
 * update, no generation, gone from the answer once deleted, named like a DNS subdomain, selectable by its name only.
 *
 * The facts are those of kube-apiserver's strategies for each kind, not choices of ours.
 */

/**
 * How objects may be called. `label`: DNS label; `subdomain`: DNS subdomain; `subdomain52`: the same, of 52 characters
 * at most; `segment`: whatever fits between two slashes; `crd`: `<plural>.<group>`; `apiService`: `<version>.<group>`;
 * `ip`: an address in its canonical form.
 */
export type NameRule = 'subdomain' | 'subdomain52' | 'label' | 'segment' | 'crd' | 'apiService' | 'ip';

/** A field that selectors may name: where its value is found, and what it is while there is none. */
export type SelectableField = {
  readonly path: string;
  readonly absent?: string;
  /** Looked at when nothing, or the empty text, is found at `path`. */
  readonly orElse?: string;
};

/**
 * How a selector that names another field is refused: `plain` is `field label not supported: F`, `kind` is
 * `field label "F" not supported for KIND`, `known` lists the two that every kind has.
 */
export type UnknownFieldText = 'plain' | 'kind' | 'known';

/** `orphan`: they stay, ownerless; `ignore`: there are none, and nothing that a deletion says of them counts. */
export type DependentsRule = 'orphan' | 'ignore';

/** What of `metadata` clients write. */
export type MetadataField = 'labels' | 'annotations' | 'finalizers' | 'ownerReferences';

export type KindRow = {
  /** Below the root of all keys, where it is not the plural. */
  readonly storedUnder?: string;
  /** Where objects are kept in the form of another resource, `group/version/plural`. */
  readonly storedAs?: string;
  readonly nameRule?: NameRule;
  readonly hasGeneration?: true;
  readonly needsResourceVersion?: true;
  readonly createsOnUpdate?: true;
  readonly answersDeleted?: true;
  /** What becomes of dependents where a deletion does not say: most kinds leave it to the garbage collector. */
  readonly dependents?: DependentsRule;
  /** Told to who leaves that open. */
  readonly dependentsWarning?: string;
  /** Told to everybody who asks for it, whatever is asked. */
  readonly deprecation?: string;
  /** What of `metadata` a write to `status` leaves as it was: of most kinds nothing. */
  readonly statusKeeps?: readonly MetadataField[];
  /** What of `metadata` nobody owns by such a write, where that is more than what it keeps. */
  readonly statusDisowns?: 'metadata';
  /** All that a write to another part of the object may own, by the name of the part. */
  readonly partFields?: Readonly<Record<string, readonly string[]>>;
  readonly fields?: Readonly<Record<string, string | SelectableField>>;
  readonly unknownField?: UnknownFieldText;
};

const generation = { hasGeneration: true } as const;
const answersDeleted = { answersDeleted: true } as const;
const createsOnUpdate = { createsOnUpdate: true } as const;
const needsVersion = { needsResourceVersion: true } as const;
const statusAlone = {
  statusKeeps: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
  statusDisowns: 'metadata',
} as const;
const admission = { ...generation, ...needsVersion };
const rbac = { ...createsOnUpdate, nameRule: 'segment' } as const;

const resourcesOf = (list: string): string[] => ['resources', 'resizePolicy'].map((field) => `spec.${list}.*.${field}`);

const eventFields = (object: string): Record<string, string> =>
  Object.fromEntries(
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => [
      `${object}.${field}`,
      `${object}.${field}`,
    ]),
  );

export const kindTable: Readonly<Record<string, KindRow>> = {
  componentstatuses: { deprecation: 'v1 ComponentStatus is deprecated in v1.19+' },
  endpoints: {
    ...createsOnUpdate,
    storedUnder: 'services/endpoints',
    deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  },
  events: {
    ...createsOnUpdate,
    dependents: 'ignore',
    unknownField: 'plain',
    fields: {
      ...eventFields('involvedObject'),
      reason: 'reason',
      reportingComponent: 'reportingComponent',
      source: { path: 'source.component', orElse: 'reportingComponent' },
      type: 'type',
    },
  },
  limitranges: createsOnUpdate,
  namespaces: {
    ...answersDeleted,
    nameRule: 'label',
    unknownField: 'plain',
    fields: { 'status.phase': 'status.phase' },
  },
  nodes: {
    storedUnder: 'minions',
    unknownField: 'plain',
    fields: { 'spec.unschedulable': { path: 'spec.unschedulable', absent: 'false' } },
  },
  persistentvolumeclaims: answersDeleted,
  persistentvolumes: answersDeleted,
  pods: {
    ...generation,
    ...answersDeleted,
    statusKeeps: ['ownerReferences'], // old kubelets would spoil them
    partFields: {
      ephemeralcontainers: ['spec.ephemeralContainers'],
      resize: ['spec.resources', ...resourcesOf('containers'), ...resourcesOf('initContainers')],
    },
    unknownField: 'plain',
    fields: {
      'spec.nodeName': 'spec.nodeName',
      'spec.host': 'spec.nodeName',
      'spec.restartPolicy': 'spec.restartPolicy',
      'spec.schedulerName': 'spec.schedulerName',
      'spec.serviceAccountName': 'spec.serviceAccountName',
      'spec.hostNetwork': { path: 'spec.hostNetwork', absent: 'false' },
      'status.phase': 'status.phase',
      'status.podIP': 'status.podIP',
      'status.podIPs': 'status.podIPs', // a list: it may be asked for, and never has a value
      'status.nominatedNodeName': 'status.nominatedNodeName',
    },
  },
  podtemplates: { ...generation, ...answersDeleted },
  replicationcontrollers: {
    ...generation,
    dependents: 'orphan',
    storedUnder: 'controllers',
    unknownField: 'plain',
    fields: { 'status.replicas': { path: 'status.replicas', absent: '0' } },
  },
  resourcequotas: answersDeleted,
  secrets: { unknownField: 'plain', fields: { type: 'type' } },
  serviceaccounts: answersDeleted,
  services: {
    ...createsOnUpdate,
    ...answersDeleted,
    storedUnder: 'services/specs',
    nameRule: 'label',
    unknownField: 'plain',
    fields: { 'spec.clusterIP': 'spec.clusterIP', 'spec.type': 'spec.type' },
  },

  'mutatingadmissionpolicies.admissionregistration.k8s.io': admission,
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io': admission,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': admission,
  'validatingadmissionpolicies.admissionregistration.k8s.io': { ...admission, ...statusAlone },
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': admission,
  'validatingwebhookconfigurations.admissionregistration.k8s.io': admission,
  'customresourcedefinitions.apiextensions.k8s.io': {
    ...generation,
    ...needsVersion,
    nameRule: 'crd',
    statusDisowns: 'metadata',
    storedUnder: 'apiextensions.k8s.io/customresourcedefinitions',
  },
  'apiservices.apiregistration.k8s.io': {
    ...needsVersion,
    ...statusAlone,
    nameRule: 'apiService',
    storedUnder: 'apiregistration.k8s.io/apiservices',
  },

  'daemonsets.apps': generation,
  'deployments.apps': { ...generation, statusKeeps: ['labels'] },
  'replicasets.apps': generation,
  'statefulsets.apps': { ...generation, nameRule: 'label' },
  'horizontalpodautoscalers.autoscaling': { storedAs: 'autoscaling/v2/horizontalpodautoscalers' },
  'cronjobs.batch': { ...generation, nameRule: 'subdomain52' },
  'jobs.batch': {
    ...generation,
    dependents: 'orphan',
    dependentsWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set ' +
      'propagationPolicy=Orphan to suppress this warning',
    unknownField: 'kind',
    fields: { 'status.successful': { path: 'status.succeeded', absent: '0' } },
  },
  'certificatesigningrequests.certificates.k8s.io': {
    nameRule: 'segment',
    unknownField: 'plain',
    fields: { 'spec.signerName': 'spec.signerName' },
  },
  'leases.coordination.k8s.io': { ...createsOnUpdate, ...needsVersion },
  'endpointslices.discovery.k8s.io': generation,
  'events.events.k8s.io': {
    ...createsOnUpdate,
    dependents: 'ignore',
    storedAs: '/v1/events',
    unknownField: 'plain',
    fields: {
      ...eventFields('regarding'),
      reason: 'reason',
      reportingController: 'reportingController',
      type: 'type',
    },
  },
  'flowschemas.flowcontrol.apiserver.k8s.io': { ...generation, ...statusAlone },
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io': { ...generation, ...statusAlone },
  'ingressclasses.networking.k8s.io': generation,
  'ingresses.networking.k8s.io': { ...generation, storedUnder: 'ingress' },
  'ipaddresses.networking.k8s.io': { nameRule: 'ip' },
  'networkpolicies.networking.k8s.io': generation,
  'runtimeclasses.node.k8s.io': { ...createsOnUpdate, ...needsVersion },
  'poddisruptionbudgets.policy': { ...generation, ...needsVersion, nameRule: 'segment' },
  'clusterrolebindings.rbac.authorization.k8s.io': rbac,
  'clusterroles.rbac.authorization.k8s.io': rbac,
  'rolebindings.rbac.authorization.k8s.io': rbac,
  'roles.rbac.authorization.k8s.io': rbac,
  'deviceclasses.resource.k8s.io': { ...generation, ...answersDeleted },
  'resourceclaims.resource.k8s.io': { ...answersDeleted, ...statusAlone },
  'resourceclaimtemplates.resource.k8s.io': answersDeleted,
  'resourceslices.resource.k8s.io': {
    ...generation,
    ...answersDeleted,
    fields: { 'spec.nodeName': 'spec.nodeName', 'spec.driver': 'spec.driver' },
  },
  'csidrivers.storage.k8s.io': { ...answersDeleted, ...needsVersion },
  'csinodes.storage.k8s.io': { ...answersDeleted, ...needsVersion },
  'csistoragecapacities.storage.k8s.io': needsVersion,
  'storageclasses.storage.k8s.io': answersDeleted,
  'volumeattachments.storage.k8s.io': { ...answersDeleted, ...needsVersion, ...statusAlone },
  'volumeattributesclasses.storage.k8s.io': answersDeleted,
};
