/** Who asks and whether they may: tokens, reviews, roles and bindings that are large or many. */
import { requestCase, type ServerTarget, type StallRequest } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { LONGEST_BODY } from './body-cases.ts';
import { MOST_MEMBERS, repeated, textShapes, times } from './text-shapes.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ROLES = `${RBAC}/namespaces/stall/roles`;
const BINDINGS = `${RBAC}/namespaces/stall/rolebindings`;
const CLUSTER_ROLES = `${RBAC}/clusterroles`;
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const MAPS = '/api/v1/namespaces/stall/configmaps';

const ruleOf = (i: number) => ({ apiGroups: [''], resources: [`r${i}`], verbs: ['get'] });

function review(name: string, limit: number, kind: string, spec: (size: number) => object): StallCase<ServerTarget> {
  const plural = `${kind.toLowerCase()}s`;
  const group = kind === 'TokenReview' ? '/apis/authentication.k8s.io/v1' : AUTHORIZATION;
  return requestCase(`a ${kind} with ${name}`, [`resource:${plural}`], limit, (size) => ({
    method: 'POST',
    path: `${group}/${plural}`,
    body: { spec: spec(size) },
  }));
}

const reviews = [
  ...Object.entries(textShapes).map(([shape, make]) =>
    review(`a token of ${shape}`, LONGEST_BODY / 2, 'TokenReview', (size) => ({ token: make(size) })),
  ),
  review('a token in three parts', LONGEST_BODY, 'TokenReview', (size) => ({
    token: `${'e'.repeat(size / 3)}.`.repeat(3),
  })),
  review('many audiences', 100_000, 'TokenReview', (size) => ({
    token: 'a.b.c',
    audiences: times(size, (i) => `a${i}`),
  })),
  review('many groups', 100_000, 'SubjectAccessReview', (size) => ({
    user: 'u',
    groups: times(size, (i) => `g${i}`),
    resourceAttributes: { verb: 'get', resource: 'pods' },
  })),
  review('many extras', MOST_MEMBERS, 'SubjectAccessReview', (size) => ({
    user: 'u',
    extra: Object.fromEntries(times(size, (i) => [`e${i}`, ['v']])),
    resourceAttributes: { verb: 'get', resource: 'pods' },
  })),
  review('a long path', LONGEST_BODY, 'SelfSubjectAccessReview', (size) => ({
    nonResourceAttributes: { verb: 'get', path: '/a'.repeat(size / 2) },
  })),
  review('long attributes', LONGEST_BODY, 'SelfSubjectAccessReview', (size) => ({
    resourceAttributes: { verb: 'v'.repeat(size / 4), resource: 'r'.repeat(size / 4), name: 'n'.repeat(size / 4) },
  })),
];

/** Asked by somebody who may do nothing but what was bound, so that the rules are looked through. */
function bound(
  name: string,
  limit: number,
  before: (size: number, label: string) => readonly StallRequest[],
  ask: (size: number, label: string) => StallRequest,
): StallCase<ServerTarget> {
  return requestCase(name, ['custom:rbac'], limit, ask, {
    before: async (target, size, label) => {
      for (const one of before(size, label)) await target.must(one);
    },
    after: async (target, size, label) => {
      const made = [...before(size, label), ask(size, label)];
      for (const { method, path } of made)
        if (method === 'POST') await target.ask({ method: 'DELETE', path: `${path}/${label}` });
    },
  });
}

const role = (name: string, size: number): StallRequest => ({
  method: 'POST',
  path: ROLES,
  body: { metadata: { name }, rules: times(size, ruleOf) },
});
const binding = (name: string, subjects: readonly object[] = [{ kind: 'User', name: 'weak' }]): StallRequest => ({
  method: 'POST',
  path: BINDINGS,
  body: { metadata: { name }, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }, subjects },
});

const rbac = [
  bound(
    'a role with many rules',
    20_000,
    () => [],
    (size, label) => role(label, size),
  ),
  bound(
    'a role with one long rule',
    60_000,
    () => [],
    (size, label) => ({
      method: 'POST',
      path: ROLES,
      body: { metadata: { name: label }, rules: [{ ...ruleOf(0), resources: times(size, (i) => `r${i}`) }] },
    }),
  ),
  bound(
    'a binding with many subjects',
    20_000,
    () => [],
    (size, label) =>
      binding(
        label,
        times(size, (i) => ({ kind: 'User', name: `u${i}` })),
      ),
  ),
  bound(
    'a request by somebody with many rules',
    12_000,
    (size, label) => [role(label, size), binding(label)],
    () => ({
      path: MAPS,
      as: 'weak',
    }),
  ),
  bound(
    'what somebody with many rules may do',
    12_000,
    (size, label) => [role(label, size), binding(label)],
    () => ({
      method: 'POST',
      path: `${AUTHORIZATION}/selfsubjectrulesreviews`,
      body: { spec: { namespace: 'stall' } },
      as: 'weak',
    }),
  ),
  {
    ...bound(
      'a role given on by somebody with many rules',
      4_000,
      (size, label) => [
        {
          method: 'POST',
          path: ROLES,
          body: {
            metadata: { name: label },
            rules: [
              { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] },
              ...times(size, ruleOf),
            ],
          },
        },
        binding(label),
      ],
      (size, label) => ({
        method: 'POST',
        path: `${ROLES}?dryRun=All`,
        body: { metadata: { name: `${label}-x` }, rules: times(size, (i) => ruleOf(size - 1 - i)) },
        as: 'weak',
      }),
    ),
  },
  bound(
    'a role that gathers by many selectors',
    4_000,
    () => [],
    (size, label) => ({
      method: 'POST',
      path: CLUSTER_ROLES,
      body: {
        metadata: { name: label },
        aggregationRule: { clusterRoleSelectors: times(size, (i) => ({ matchLabels: { [`l${i}`]: 'v' } })) },
        rules: null,
      },
    }),
  ),
];

const tokens = [
  requestCase(
    'a token for many audiences',
    ['resource:serviceaccounts/token'],
    60_000,
    (size) => ({
      method: 'POST',
      path: '/api/v1/namespaces/stall/serviceaccounts/default/token',
      body: { spec: { audiences: times(size, (i) => `a${i}`) } },
    }),
    {
      before: (target) =>
        target.ask({
          method: 'POST',
          path: '/api/v1/namespaces/stall/serviceaccounts',
          body: { metadata: { name: 'default' } },
        }),
    },
  ),
  requestCase('options of a delete with many fields', ['body:DeleteOptions'], MOST_MEMBERS, (size) => ({
    method: 'DELETE',
    path: `${MAPS}/none`,
    body: { kind: 'DeleteOptions', apiVersion: 'v1', ...Object.fromEntries(times(size, (i) => [`u${i}`, 1])) },
  })),
  requestCase(
    'options of a delete with more fields than there may be',
    ['body:DeleteOptions'],
    LONGEST_BODY,
    (size) => ({
      method: 'DELETE',
      path: `${MAPS}/none`,
      body: `{"kind":"DeleteOptions","apiVersion":"v1",${repeated((i) => `"u${i}":1,`, size)}"preconditions":{"uid":"x"}}`,
    }),
  ),
  requestCase('options of a delete with many dry runs', ['body:DeleteOptions'], 200_000, (size) => ({
    method: 'DELETE',
    path: `${MAPS}/none`,
    body: { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: times(size, () => 'None') },
  })),
];

export const accessCases: readonly StallCase<ServerTarget>[] = [...reviews, ...rbac, ...tokens];
