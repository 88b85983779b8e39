/** The tables of what everything else stands on: namespaces, nodes, settings, events, leases, quotas. */
import type { KubeObject } from '../../api/objects.ts';
import {
  age,
  ageColumn,
  booleanColumn,
  type CellContext,
  column,
  entries,
  findCondition,
  flag,
  get,
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

const eventTable: KindTable = {
  columns: [
    column('Last Seen', lastSeen),
    column('Type', (event) => text(event, 'type')),
    column('Reason', (event) => text(event, 'reason')),
    column('Object', (event) => {
      const kind = text(eventObject(event), 'kind').toLowerCase();
      const name = text(eventObject(event), 'name');
      return name ? `${kind}/${name}` : kind;
    }),
    wideColumn('Subobject', (event) => text(eventObject(event), 'fieldPath')),
    wideColumn('Source', eventSource),
    column('Message', (event) => (text(event, 'message') || text(event, 'note')).trim()),
    wideColumn('First Seen', firstSeen),
    wideColumn('Count', eventCount),
    column('Name', (event) => event.metadata.name ?? '', { priority: 1, format: 'name' }),
  ],
};

export const coreTables: KindTables = {
  '/configmaps': withNameAndAge(
    column('Data', (object) => entries(object, 'data').length + entries(object, 'binaryData').length),
  ),
  '/secrets': withNameAndAge(
    column('Type', (secret) => text(secret, 'type')),
    column('Data', (secret) => entries(secret, 'data').length),
  ),
  '/namespaces': withNameAndAge(column('Status', (namespace) => text(namespace, 'status', 'phase'))),
  '/serviceaccounts': withNameAndAge(),
  '/nodes': {
    columns: [
      nameColumn,
      column('Status', nodeStatus),
      column('Roles', nodeRoles),
      ageColumn,
      column('Version', (node) => text(node, 'status', 'nodeInfo', 'kubeletVersion')),
      wideColumn('Internal-IP', nodeAddress('InternalIP')),
      wideColumn('External-IP', nodeAddress('ExternalIP')),
      wideColumn('OS-Image', nodeInfo('osImage')),
      wideColumn('Kernel-Version', kernelVersion),
      wideColumn('Container-Runtime', nodeInfo('containerRuntimeVersion')),
    ],
  },
  '/events': eventTable,
  'events.k8s.io/events': eventTable,
  '/resourcequotas': withNameAndAge(
    column('Request', (quota) => quotaText(quota, (resource) => !resource.startsWith('limits'))),
    column('Limit', (quota) => quotaText(quota, (resource) => resource.startsWith('limits'))),
  ),
  '/componentstatuses': {
    columns: [
      nameColumn,
      column('Status', componentHealth),
      column('Message', (object) => text(list(object, 'conditions')[0], 'message')),
      column('Error', (object) => text(list(object, 'conditions')[0], 'error')),
    ],
  },
  'coordination.k8s.io/leases': withNameAndAge(column('Holder', (lease) => text(lease, 'spec', 'holderIdentity'))),
  'scheduling.k8s.io/priorityclasses': {
    columns: [
      nameColumn,
      integerColumn('Value', (object) => number(object, 'value')),
      booleanColumn('Global-Default', (object) => flag(object, 'globalDefault')),
      ageColumn,
      column('PreemptionPolicy', (object) => text(object, 'preemptionPolicy')),
    ],
  },
  'node.k8s.io/runtimeclasses': withNameAndAge(column('Handler', (object) => text(object, 'handler'))),
};

function nodeStatus(node: KubeObject): string {
  const ready = findCondition(node, 'Ready');
  const health = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return flag(node, 'spec', 'unschedulable') ? `${health},SchedulingDisabled` : health;
}

const rolePrefix = 'node-role.kubernetes.io/';

function nodeRoles(node: KubeObject): string {
  const roles = entries(node, 'metadata', 'labels').map(([key, value]) => {
    if (key.startsWith(rolePrefix)) return key.slice(rolePrefix.length);
    return key === 'kubernetes.io/role' ? String(value) : '';
  });
  return [...new Set(roles.filter(Boolean))].sort().join(',') || '<none>';
}

function nodeAddress(type: string): (node: KubeObject) => string {
  return (node) => {
    const found = list(node, 'status', 'addresses').find((address) => text(address, 'type') === type);
    return text(found, 'address') || '<none>';
  };
}

function nodeInfo(field: string): (node: KubeObject) => string {
  return (node) => text(node, 'status', 'nodeInfo', field) || '<unknown>';
}

function kernelVersion(node: KubeObject): string {
  const version = text(node, 'status', 'nodeInfo', 'kernelVersion');
  const architecture = text(node, 'status', 'nodeInfo', 'architecture');
  if (!version) return '<unknown>';
  return architecture ? `${version} (${architecture})` : version;
}

// Events have two forms: v1, and events.k8s.io/v1 with other names for most of the same fields.

function eventObject(event: KubeObject): unknown {
  return get(event, 'involvedObject') ?? get(event, 'regarding');
}

function firstSeen(event: KubeObject, { nowMs }: CellContext): string {
  const first = text(event, 'firstTimestamp') || text(event, 'deprecatedFirstTimestamp') || text(event, 'eventTime');
  return age(first, nowMs);
}

function lastSeen(event: KubeObject, context: CellContext): string {
  const series = get(event, 'series');
  const last = text(event, 'lastTimestamp') || text(event, 'deprecatedLastTimestamp');
  if (series) return age(text(series, 'lastObservedTime'), context.nowMs);
  return last ? age(last, context.nowMs) : firstSeen(event, context);
}

function eventCount(event: KubeObject): number {
  const series = get(event, 'series');
  if (series) return number(series, 'count');
  return number(event, 'count') || number(event, 'deprecatedCount') || 1;
}

function eventSource(event: KubeObject): string {
  const source = get(event, 'source') ?? get(event, 'deprecatedSource');
  const reporter = text(event, 'reportingComponent') || text(event, 'reportingController');
  const component = text(source, 'component') || reporter;
  const host = text(source, 'host') || text(event, 'reportingInstance');
  return host ? `${component}, ${host}` : component;
}

function quotaText(quota: KubeObject, isShown: (resource: string) => boolean): string {
  return entries(quota, 'status', 'hard')
    .filter(([resource]) => isShown(resource))
    .map(([resource, hard]) => `${resource}: ${scalarText(quota, 'status', 'used', resource) || '0'}/${String(hard)}`)
    .join(', ');
}

function componentHealth(object: KubeObject): string {
  const healthy = list(object, 'conditions').find((condition) => text(condition, 'type') === 'Healthy');
  if (!healthy) return 'Unknown';
  return text(healthy, 'status') === 'True' ? 'Healthy' : 'Unhealthy';
}
