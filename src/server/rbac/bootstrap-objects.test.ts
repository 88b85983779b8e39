import { expect, it } from 'vitest';
import type { KubeObject } from '../../api/index.ts';
import { aggregatedRules } from './aggregated-rules.ts';
import { type BootstrapObject, bootstrapObjects } from './bootstrap-objects.ts';
import { type PolicyRule, rulesIn } from './policy-rule.ts';
import { reconciled, refersElsewhere } from './reconcile.ts';

const find = (plural: string, name: string): KubeObject => {
  const found = bootstrapObjects().find(
    (one: BootstrapObject) => one.plural === plural && one.object.metadata.name === name,
  );
  if (!found) throw new Error(`Cannot find ${plural} "${name}"`);
  return found.object;
};

it('bootstrapObjects() unpacks what every cluster has', () => {
  const counts = new Map<string, number>();
  for (const { plural } of bootstrapObjects()) counts.set(plural, (counts.get(plural) ?? 0) + 1);
  expect(Object.fromEntries(counts)).toEqual({
    clusterroles: 69,
    roles: 7,
    clusterrolebindings: 50,
    rolebindings: 7,
    flowschemas: 11,
    prioritylevelconfigurations: 8,
    priorityclasses: 2,
  });
  expect(find('clusterrolebindings', 'cluster-admin')).toEqual({
    kind: 'ClusterRoleBinding',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: {
      name: 'cluster-admin',
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
    },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:masters' }],
  });
});

it('bootstrapObjects() gathers: who may edit may view, who administers may edit', () => {
  const count = (name: string) => rulesIn(find('clusterroles', name)).length;
  expect(count('view')).toBeGreaterThan(5);
  expect(count('edit')).toBeGreaterThan(count('view'));
  expect(count('admin')).toBeGreaterThan(count('edit'));
});

it('aggregatedRules() takes each rule once, in order of names, and not its own', () => {
  const role = (name: string, labels: Record<string, string>, ...verbs: string[]): KubeObject => ({
    kind: 'ClusterRole',
    apiVersion: 'v1',
    metadata: { name, labels },
    rules: verbs.map((verb) => ({ verbs: [verb] })),
  });
  const gatherer: KubeObject = {
    ...role('g', { team: 'a' }, 'own'),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { team: 'a' } }, { matchLabels: { team: 'b' } }] },
  };
  const all = [
    role('z', { team: 'a' }, 'last'),
    gatherer,
    role('b', { team: 'b' }, 'get'),
    role('a', { team: 'a' }, 'get'),
  ];
  expect(aggregatedRules(gatherer, all)).toEqual([{ verbs: ['get'] }, { verbs: ['last'] }]);
});

const AUTO = 'rbac.authorization.kubernetes.io/autoupdate';
const withRules = (role: KubeObject, rules: PolicyRule[]): KubeObject => ({ ...role, rules: rules as never });

it('reconciled() leaves alone what is as it should be', () => {
  for (const { object } of bootstrapObjects()) expect(reconciled(structuredClone(object), object)).toBeUndefined();
});

it('reconciled() brings rules back and keeps what was added', () => {
  const wanted = find('clusterroles', 'system:basic-user');
  const own: PolicyRule = { verbs: ['get'], apiGroups: ['x'], resources: ['y'] };
  const changed = reconciled(withRules(wanted, [own]), wanted)!;
  expect(rulesIn(changed)[0]).toEqual(own);
  expect(rulesIn(changed).length).toBeGreaterThan(1);
  expect(reconciled(changed, wanted)).toBeUndefined();
  const proud = { ...withRules(wanted, []), metadata: { ...wanted.metadata, annotations: { [AUTO]: 'false' } } };
  expect(reconciled(proud, wanted)).toBeUndefined();
});

it('reconciled() brings subjects and labels back', () => {
  const binding = find('clusterrolebindings', 'cluster-admin');
  expect(reconciled({ ...binding, subjects: [] }, binding)).toEqual(binding);
  const bare = { ...binding, metadata: { name: 'cluster-admin' } };
  expect(reconciled(bare, binding)?.metadata.labels).toEqual(binding.metadata.labels);
  const elsewhere = {
    ...binding,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  };
  expect([refersElsewhere(elsewhere, binding), refersElsewhere(binding, binding)]).toEqual([true, false]);
});
