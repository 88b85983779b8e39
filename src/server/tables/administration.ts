/** The tables of who may do what and how the server is run: bindings, certificates, admission, fairness, devices. */
import type { KubeObject } from '../../api/objects.ts';
import { humanDuration } from '../../api/scalars/durations.ts';
import {
  ageColumn,
  type Cell,
  column,
  findCondition,
  get,
  hasCondition,
  integerColumn,
  type KindTable,
  type KindTables,
  list,
  nameColumn,
  number,
  scalarText,
  text,
  wideColumn,
  withNameAndAge,
} from './columns.ts';

const bindingTable: KindTable = {
  columns: [
    nameColumn,
    column('Role', (binding) => `${text(binding, 'roleRef', 'kind')}/${text(binding, 'roleRef', 'name')}`),
    ageColumn,
    wideColumn('Users', subjects('User')),
    wideColumn('Groups', subjects('Group')),
    wideColumn('ServiceAccounts', subjects('ServiceAccount')),
  ],
};

const webhooksTable = withNameAndAge(integerColumn('Webhooks', (object) => list(object, 'webhooks').length));
const policyBindingTable = withNameAndAge(
  column('PolicyName', (object) => text(object, 'spec', 'policyName')),
  column('ParamRef', parameterReference),
);

export const administrationTables: KindTables = {
  'rbac.authorization.k8s.io/rolebindings': bindingTable,
  'rbac.authorization.k8s.io/clusterrolebindings': bindingTable,
  'certificates.k8s.io/certificatesigningrequests': {
    columns: [
      nameColumn,
      ageColumn,
      column('SignerName', (request) => text(request, 'spec', 'signerName') || '<none>'),
      column('Requestor', (request) => text(request, 'spec', 'username')),
      column('RequestedDuration', (request) => {
        const seconds = get(request, 'spec', 'expirationSeconds');
        return typeof seconds === 'number' ? humanDuration(seconds * 1000) : '<none>';
      }),
      column('Condition', certificateCondition),
    ],
  },
  'apiregistration.k8s.io/apiservices': withNameAndAge(
    column('Service', (object) => {
      const service = get(object, 'spec', 'service');
      return service ? `${text(service, 'namespace')}/${text(service, 'name')}` : 'Local';
    }),
    column('Available', (object) => {
      const available = findCondition(object, 'Available');
      if (!available) return 'Unknown';
      return available.status === 'True' ? 'True' : `${available.status} (${available.reason})`;
    }),
  ),
  'admissionregistration.k8s.io/validatingwebhookconfigurations': webhooksTable,
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': webhooksTable,
  'admissionregistration.k8s.io/validatingadmissionpolicies': policyTable('Validations', 'validations'),
  'admissionregistration.k8s.io/mutatingadmissionpolicies': policyTable('Mutations', 'mutations'),
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': policyBindingTable,
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': policyBindingTable,
  'flowcontrol.apiserver.k8s.io/flowschemas': {
    columns: [
      nameColumn,
      column('PriorityLevel', (schema) => text(schema, 'spec', 'priorityLevelConfiguration', 'name') || '<none>'),
      column('MatchingPrecedence', (schema) => number(schema, 'spec', 'matchingPrecedence')),
      column('DistinguisherMethod', (schema) => text(schema, 'spec', 'distinguisherMethod', 'type') || '<none>'),
      ageColumn,
      column('MissingPL', (schema) => findCondition(schema, 'Dangling')?.status ?? '?'),
    ],
  },
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': withNameAndAge(
    column('Type', (level) => text(level, 'spec', 'type')),
    column('NominalConcurrencyShares', limited('nominalConcurrencyShares')),
    column('Queues', limited('limitResponse', 'queuing', 'queues')),
    column('HandSize', limited('limitResponse', 'queuing', 'handSize')),
    column('QueueLengthLimit', limited('limitResponse', 'queuing', 'queueLengthLimit')),
  ),
  'resource.k8s.io/resourceclaims': withNameAndAge(column('State', claimState)),
  'resource.k8s.io/resourceclaimtemplates': withNameAndAge(),
  'resource.k8s.io/deviceclasses': withNameAndAge(),
  'resource.k8s.io/resourceslices': withNameAndAge(
    column('Node', (slice) => text(slice, 'spec', 'nodeName')),
    column('Driver', (slice) => text(slice, 'spec', 'driver')),
    column('Pool', (slice) => text(slice, 'spec', 'pool', 'name')),
  ),
};

function subjects(kind: string): Cell {
  return (binding) => {
    const found = list(binding, 'subjects').filter((subject) => text(subject, 'kind') === kind);
    const names = found.map((subject) => {
      const name = text(subject, 'name');
      return kind === 'ServiceAccount' ? `${text(subject, 'namespace')}/${name}` : name;
    });
    return names.join(', ');
  };
}

function certificateCondition(request: KubeObject): string {
  const verdict = hasRequestCondition(request, 'Denied')
    ? 'Denied'
    : hasRequestCondition(request, 'Approved')
      ? 'Approved'
      : 'Pending';
  const failed = hasRequestCondition(request, 'Failed') ? ',Failed' : '';
  return `${verdict}${failed}${text(request, 'status', 'certificate') ? ',Issued' : ''}`;
}

/** Conditions of certificate requests may lack a status: being there is enough. */
function hasRequestCondition(request: KubeObject, type: string): boolean {
  return hasCondition(request, type) || findCondition(request, type)?.status === '';
}

function policyTable(name: string, field: string): KindTable {
  return withNameAndAge(
    integerColumn(name, (policy) => list(policy, 'spec', field).length),
    column('ParamKind', (policy) => {
      const kind = get(policy, 'spec', 'paramKind');
      return kind ? `${text(kind, 'apiVersion')}/${text(kind, 'kind')}` : '<unset>';
    }),
  );
}

function parameterReference(binding: KubeObject): string {
  const reference = get(binding, 'spec', 'paramRef');
  if (!reference) return '<unset>';
  const name = text(reference, 'name') || '*';
  const namespace = text(reference, 'namespace');
  return namespace ? `${namespace}/${name}` : name;
}

function limited(...path: string[]): Cell {
  return (level) => {
    const found = get(level, 'spec', 'limited', ...path);
    return typeof found === 'number' ? found : scalarText(found) || '<none>';
  };
}

function claimState(claim: KubeObject): string {
  const states: string[] = [];
  if (claim.metadata.deletionTimestamp) states.push('deleted');
  if (get(claim, 'status', 'allocation')) {
    states.push('allocated');
    if (list(claim, 'status', 'reservedFor').length > 0) states.push('reserved');
  } else if (states.length === 0) states.push('pending');
  return states.join(',');
}
