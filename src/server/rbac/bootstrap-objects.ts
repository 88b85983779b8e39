/**
 * The objects every cluster has: roles and bindings of the system, flow control, priority classes. Unpacked from
 * generated/bootstrap-data.ts, which holds
 *
 *   clusterRoles         [name, rules, the role that gathers it or '', what it gathers itself or '']
 *   roles                [namespace, name, rules]
 *   clusterRoleBindings  [name, subjects, role if it is not called like the binding]
 *   roleBindings         [namespace, name, subjects, role if ...]
 *   flowSchemas, priorityLevels   [name, spec]
 *
 * with a rule as `verbs|groups|resources|names` or `verbs|/paths` and a subject as `g:group`, `u:user` or
 * `s:namespace/name`. Unpacked once in a process and frozen: who wants to change one takes a copy.
 */
import { deepFreeze, type JsonObject, type KubeObject } from '../../api/index.ts';
import { aggregatedRules } from './aggregated-rules.ts';
import { bootstrapData } from './generated/bootstrap-data.ts';
import type { PolicyRule } from './policy-rule.ts';

export type BootstrapObject = { readonly group: string; readonly plural: string; readonly object: KubeObject };

type Data = {
  readonly clusterRoles: readonly [string, string[], string, string][];
  readonly roles: readonly [string, string, string[]][];
  readonly clusterRoleBindings: readonly [string, string[], string?][];
  readonly roleBindings: readonly [string, string, string[], string?][];
  readonly flowSchemas: readonly [string, JsonObject][];
  readonly priorityLevels: readonly [string, JsonObject][];
};

const RBAC = 'rbac.authorization.k8s.io';
const FLOW_CONTROL = 'flowcontrol.apiserver.k8s.io';
const AGGREGATE = `${RBAC}/aggregate-to-`;

export const RBAC_AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';
export const FLOW_AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec';

let unpacked: readonly BootstrapObject[] | undefined;

export function bootstrapObjects(): readonly BootstrapObject[] {
  unpacked ??= deepFreeze(unpack());
  return unpacked;
}

function unpack(): BootstrapObject[] {
  const data = JSON.parse(bootstrapData) as Data;
  const clusterRoles = data.clusterRoles.map(clusterRole);
  // Roles gather from roles that gather: those that only give come first, then view, edit, admin.
  for (const name of ['view', 'edit', 'admin']) {
    const role = clusterRoles.find(({ metadata }) => metadata.name === name);
    if (role) (role as unknown as JsonObject).rules = aggregatedRules(role, clusterRoles) as unknown as JsonObject[];
  }
  const rbac = (plural: string) => (object: KubeObject) => ({ group: RBAC, plural, object });
  const flow =
    (plural: string, kind: string) =>
    ([name, spec]: [string, JsonObject]) => ({
      group: FLOW_CONTROL,
      plural,
      object: {
        kind,
        apiVersion: `${FLOW_CONTROL}/v1`,
        metadata: { name, annotations: { [FLOW_AUTO_UPDATE]: 'true' } },
        spec,
      } as KubeObject,
    });
  return [
    ...clusterRoles.map(rbac('clusterroles')),
    ...data.roles
      .map(([namespace, name, rules]) => rbacObject('Role', { name, namespace }, { rules: rules.map(unpackRule) }))
      .map(rbac('roles')),
    ...data.clusterRoleBindings
      .map(([name, subjects, role]) => binding('ClusterRole', { name }, subjects, role))
      .map(rbac('clusterrolebindings')),
    ...data.roleBindings
      .map(([namespace, name, subjects, role]) => binding('Role', { name, namespace }, subjects, role))
      .map(rbac('rolebindings')),
    ...data.flowSchemas.map(flow('flowschemas', 'FlowSchema')),
    ...data.priorityLevels.map(flow('prioritylevelconfigurations', 'PriorityLevelConfiguration')),
    ...priorityClasses().map((object) => ({ group: 'scheduling.k8s.io', plural: 'priorityclasses', object })),
  ];
}

function priorityClasses(): KubeObject[] {
  const stays = 'Used for system critical pods that must not be moved from their current node.';
  const moves =
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.';
  return [
    priorityClass('system-node-critical', 2_000_001_000, stays),
    priorityClass('system-cluster-critical', 2_000_000_000, moves),
  ];
}

function priorityClass(name: string, value: number, description: string): KubeObject {
  return { kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', metadata: { name }, value, description };
}

function clusterRole([name, rules, givesTo, gathers]: Data['clusterRoles'][number]): KubeObject {
  const role = rbacObject(
    'ClusterRole',
    { name },
    {
      rules: rules.map(unpackRule),
      ...(gathers && {
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`${AGGREGATE}${gathers}`]: 'true' } }] },
      }),
    },
  );
  if (givesTo) role.metadata.labels![`${AGGREGATE}${givesTo}`] = 'true';
  return role;
}

function binding(
  kind: 'Role' | 'ClusterRole',
  metadata: { readonly name: string; readonly namespace?: string },
  subjects: readonly string[],
  role: string = metadata.name,
): KubeObject {
  return rbacObject(`${kind}Binding`, metadata, {
    roleRef: { apiGroup: RBAC, kind, name: role },
    ...(subjects.length > 0 && { subjects: subjects.map(unpackSubject) }),
  });
}

function rbacObject(kind: string, metadata: KubeObject['metadata'], rest: object): KubeObject {
  return {
    kind,
    apiVersion: `${RBAC}/v1`,
    metadata: {
      ...metadata,
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { [RBAC_AUTO_UPDATE]: 'true' },
    },
    ...rest,
  };
}

function unpackRule(text: string): PolicyRule {
  const [verbs = [], second = [], resources, names] = text.split('|').map((list) => list.split(','));
  if (!resources) return { verbs, nonResourceURLs: second };
  return { verbs, apiGroups: second, resources, ...(names && { resourceNames: names }) };
}

function unpackSubject(text: string): JsonObject {
  const name = text.slice(2);
  if (text.startsWith('s:')) {
    const [namespace = '', account = ''] = name.split('/');
    return { kind: 'ServiceAccount', name: account, namespace };
  }
  return { kind: text.startsWith('g:') ? 'Group' : 'User', apiGroup: RBAC, name };
}
