/** Roles and bindings by chance: narrow ones and wide ones, the same names in different places, roles that are not there. */

import type { Random } from '../support/random.ts';
import { NAMESPACES } from './access-world.ts';
import type { Person, Policy, Rule } from './rbac-model.ts';

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const RESOURCES: readonly [group: string, resource: string][] = [
  ...['configmaps', 'secrets', 'serviceaccounts', 'serviceaccounts/token', 'nodes', 'namespaces'].map(
    (one): [string, string] => ['', one],
  ),
  ...['pods', 'pods/status', 'pods/binding', 'bindings', 'pods/eviction', '*/status', 'pods/*', '*'].map(
    (one): [string, string] => ['', one],
  ),
  ['apps', 'deployments'],
  ['apps', 'deployments/scale'],
  ['apps', '*/scale'],
  ['coordination.k8s.io', 'leases'],
  ['example.com', 'widgets'],
  ['example.com', 'widgets/status'],
  ['example.com', '*'],
  ['example.com', 'gadgets'],
  ['introspection.longwatch.dev', 'objecthistories'],
  ['*', '*'],
  ['*', '*/scale'],
];
const NAMES = ['a', 'b', 'new', 'one', 'r0', 'alice', ''];
const ROLES = ['r0', 'r1', 'r2'];

export function aRule(random: Random, mayBePath: boolean): Rule {
  if (mayBePath && random.chance(0.2))
    return {
      verbs: random.some(['get', 'post', '*'], 1, 2),
      nonResourceURLs: random.some(['/metrics', '/foo', '/foo/*', '/foo*', '*'], 1, 2),
    };
  const kind = random.below(12);
  if (kind <= 1) return rightsOver(random);
  if (kind === 2) return rightToMake(random);
  const chosen = random.some(RESOURCES, 2, 6);
  return {
    verbs: someVerbs(random),
    apiGroups: random.chance(0.1) ? ['*'] : [...new Set(chosen.map(([group]) => group))],
    resources: chosen.map(([, resource]) => resource),
    ...(random.chance(0.3) && { resourceNames: random.some(NAMES, 1, 3) }),
  };
}

/** All, some, or all but one: what is nearly enough shows most. */
function someVerbs(random: Random): string[] {
  if (random.chance(0.1)) return ['*'];
  const without = random.pick(VERBS);
  return random.chance(0.4) ? VERBS.filter((verb) => verb !== without) : random.some(VERBS, 1, 5);
}

/** To make what is not there, under one name. */
function rightToMake(random: Random): Rule {
  const verbs = random.some(['create', 'update', 'patch'], 2, 3);
  return { verbs, apiGroups: ['*'], resources: ['*'], resourceNames: ['new'] };
}

/** Over rights themselves: to act as others, to ask about them, to give them. */
function rightsOver(random: Random): Rule {
  return random.pick<Rule>([
    { verbs: ['impersonate'], apiGroups: [''], resources: random.some(['users', 'groups', 'serviceaccounts'], 1, 3) },
    { verbs: ['impersonate'], apiGroups: [''], resources: ['users'] },
    {
      ...{ verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'] },
      resourceNames: random.some(['alice', 'bert', 'devs', 'robot', 'system:authenticated'], 2, 5),
    },
    { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['*'] },
    { verbs: ['create', 'escalate'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'] },
    {
      verbs: ['create', 'bind'],
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['rolebindings', 'roles', 'clusterroles'],
    },
    { verbs: ['create'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'] },
  ]);
}

export function somePolicies(random: Random, people: readonly Person[]): Policy[] {
  const policies: Policy[] = [];
  const rules = (mayBePath: boolean) => Array.from({ length: 1 + random.below(4) }, () => aRule(random, mayBePath));
  const labels = (more: Record<string, string> = {}) => ({ try: 'policy', ...more });
  for (const name of ROLES) {
    for (const namespace of NAMESPACES)
      if (random.chance(0.7))
        policies.push({ kind: 'Role', metadata: { name, namespace, labels: labels() }, rules: rules(false) });
    if (random.chance(0.8)) {
      const gathered: Record<string, string> = random.chance(0.5) ? { gathered: random.pick(['x', 'y']) } : {};
      policies.push({ kind: 'ClusterRole', metadata: { name, labels: labels(gathered) }, rules: rules(true) });
    }
  }
  const clusterRoleSelectors = [{ matchLabels: { gathered: random.pick(['x', 'y']) } }];
  policies.push({
    kind: 'ClusterRole',
    metadata: { name: 'gathers', labels: labels() },
    rules: null,
    aggregationRule: { clusterRoleSelectors },
  });
  const bindings = 6 + random.below(8);
  for (let i = 0; i < bindings; i++) policies.push(aBinding(random, people, `b${i}`, labels()));
  return policies;
}

function aBinding(random: Random, people: readonly Person[], name: string, labels: Record<string, string>): Policy {
  const isEverywhere = random.chance(0.35);
  const kind = isEverywhere || random.chance(0.4) ? 'ClusterRole' : 'Role';
  const roles = kind === 'Role' ? ROLES : [...ROLES, 'gathers', 'gathers', 'view'];
  const subjects = Array.from({ length: 1 + random.below(2) }, () => aSubject(random, people));
  const namespace = random.pick(NAMESPACES);
  return {
    kind: isEverywhere ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, labels, ...(!isEverywhere && { namespace }) },
    roleRef: { kind, name: random.pick(roles) },
    subjects,
  };
}

function aSubject(random: Random, people: readonly Person[]): { kind: string; name: string; namespace?: string } {
  const { name, groups } = random.pick(people);
  if (random.chance(0.3)) return { kind: 'Group', name: random.pick(groups) };
  const [, , namespace, account] = name.split(':');
  if (account === undefined) return { kind: 'User', name };
  // A service account may be meant by its name as a user, too.
  return random.chance(0.8) ? { kind: 'ServiceAccount', name: account, namespace: namespace! } : { kind: 'User', name };
}
