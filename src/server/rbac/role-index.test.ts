import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../api/index.ts';
import type { Attributes } from '../auth/authorizer.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { PolicyRule } from './policy-rule.ts';
import { RbacAuthorizer } from './rbac-authorizer.ts';

const role = (namespace: string, name: string, rules: PolicyRule[]): KubeObject => ({
  kind: namespace ? 'Role' : 'ClusterRole',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name, ...(namespace && { namespace }) },
  rules: rules as never,
});
const binding = (namespace: string, name: string, ref: string, ...subjects: string[]): KubeObject => ({
  kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  metadata: { name, ...(namespace && { namespace }) },
  roleRef: { kind: ref.split(' ')[0]!, name: ref.split(' ')[1]! },
  subjects: subjects.map((text) => {
    const [kind = '', subject = '', where] = text.split(' ');
    return { kind, name: subject, ...(where && { namespace: where }) };
  }),
});
const user = (username: string, ...groups: string[]): UserInfo => ({ username, groups });
/** `get pods/log in ns named p of apps`, parts in this order. */
const asks = (text: string): Attributes => {
  const [, verb = '', resource = '', sub = '', namespace = '', name = '', group = ''] =
    /^(\S+) ([^\s/]+)(?:\/(\S+))?(?: in (\S+))?(?: named (\S+))?(?: of (\S+))?$/.exec(text) ?? [];
  return { kind: 'resource', verb, group, version: 'v1', resource, subresource: sub, namespace, name };
};

const rbac = new RbacAuthorizer();
const { index } = rbac;
index.setRole(
  role('', 'viewer', [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log', '*/status'] }]),
);
index.setRole(role('', 'paths', [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/api/*'] }]));
index.setRole(role('', 'named', [{ verbs: ['*'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a'] }]));
index.setRole(role('', 'all', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]));
index.setRole(role('dev', 'scaler', [{ verbs: ['update'], apiGroups: ['apps'], resources: ['*/scale'] }]));
index.setBinding(binding('', 'v', 'ClusterRole viewer', 'Group viewers'));
index.setBinding(binding('', 'p', 'ClusterRole paths', 'User alice'));
index.setBinding(binding('', 'n', 'ClusterRole named', 'User ned'));
index.setBinding(binding('dev', 'v', 'ClusterRole viewer', 'User dora', 'ServiceAccount bot ci'));
index.setBinding(binding('dev', 's', 'Role scaler', 'User dora'));
index.setBinding(binding('dev', 'gone', 'Role nothing', 'User gus'));
index.setBinding(binding('ops', 'a', 'ClusterRole all', 'User olga', 'ServiceAccount own'));

it.each<[string, UserInfo, string, boolean]>([
  ['a group everywhere', user('x', 'viewers'), 'list pods', true],
  ['a group in any namespace', user('x', 'viewers'), 'get pods in dev named p', true],
  ['a verb that is not named', user('x', 'viewers'), 'delete pods in dev named p', false],
  ['a part that is named', user('x', 'viewers'), 'get pods/log in dev named p', true],
  ['a part that is not', user('x', 'viewers'), 'get pods/exec in dev named p', false],
  ['a part of any resource', user('x', 'viewers'), 'get jobs/status in dev named j', true],
  ['that resource itself', user('x', 'viewers'), 'get jobs in dev named j', false],
  ['another group of the API', user('x', 'viewers'), 'get pods in dev named p of apps', false],
  ['a user called like a group', user('viewers'), 'list pods', false],
  ['a binding in its namespace', user('dora'), 'list pods in dev', true],
  ['a binding in another namespace', user('dora'), 'list pods in ops', false],
  ['a binding in a namespace, for all of them', user('dora'), 'list pods', false],
  ['a part by a star, of a role', user('dora'), 'update deployments/scale in dev named d of apps', true],
  ['a service account', user('system:serviceaccount:ci:bot'), 'list pods in dev', true],
  ['its namesake elsewhere', user('system:serviceaccount:dev:bot'), 'list pods in dev', false],
  ['a service account of the binding itself', user('system:serviceaccount:ops:own'), 'get x in ops', true],
  ['the named object', user('ned'), 'delete secrets in any named a', true],
  ['an object of another name', user('ned'), 'get secrets in any named b', false],
  ['a list, by a name', user('ned'), 'list secrets in any', false],
  ['a create, by a name', user('ned'), 'create secrets in any', false],
  ['everything in a namespace', user('olga'), 'frob things/part in ops named t of example.com', true],
  ['everything outside of it', user('olga'), 'get things', false],
  ['masters', user('m', 'system:masters'), 'frob things', true],
])('authorize() decides about %s', (_what, who, what, allowed) =>
  expect(rbac.authorize(who, asks(what)).allowed).toBe(allowed),
);

it.each<[string, string, boolean]>([
  ['/healthz', 'get', true],
  ['/healthz/x', 'get', false],
  ['/api/v1', 'get', true],
  ['/api', 'get', false],
  ['/healthz', 'post', false],
])('authorize() decides about the path %s, %s', (path, verb, allowed) =>
  expect(rbac.authorize(user('alice'), { kind: 'path', verb, path }).allowed).toBe(allowed),
);

describe('reasons', () => {
  it('name the binding, the role and the subject', () => {
    expect(rbac.authorize(user('system:serviceaccount:ci:bot'), asks('list pods in dev')).reason).toBe(
      'RBAC: allowed by RoleBinding "v/dev" of ClusterRole "viewer" to ServiceAccount "bot/ci"',
    );
    expect(rbac.authorize(user('x', 'viewers'), asks('list pods')).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "v" of ClusterRole "viewer" to Group "viewers"',
    );
  });

  it('name the role that is granted and does not exist', () => {
    const why = 'role.rbac.authorization.k8s.io "nothing" not found';
    expect(rbac.authorize(user('gus'), asks('list pods in dev'))).toEqual({ allowed: false, reason: `RBAC: ${why}` });
    expect(rbac.rulesFor(user('gus'), 'dev')).toEqual({ rules: [], evaluationError: why });
  });
});

it('changes count at once, in whatever order they come', () => {
  const who = user('zoe');
  const what = asks('get things in dev');
  const may = () => rbac.authorize(who, what).allowed;
  const bound = binding('dev', 'z', 'Role late', 'User zoe', 'User zoe');
  index.setBinding(bound);
  expect(may()).toBe(false);
  index.setRole(role('dev', 'late', [{ verbs: ['get'], apiGroups: [''], resources: ['things'] }]));
  expect(may()).toBe(true);
  index.setRole(role('dev', 'late', []));
  expect(may()).toBe(false);
  index.setRole(role('dev', 'late', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]));
  index.removeBinding(bound);
  expect(may()).toBe(false);
  index.setBinding(bound);
  index.removeRole('dev', 'late');
  expect(may()).toBe(false);
});
