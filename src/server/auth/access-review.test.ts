import { expect, it } from 'vitest';
import type { KubeObject } from '../../api/index.ts';
import type { UserInfo } from '../request/user-info.ts';
import { reviewAccess, reviewLocalAccess, reviewOwnAccess, reviewOwnRules } from './access-review.ts';
import { type Attributes, type Authorizer, attributesOf } from './authorizer.ts';

const alice: UserInfo = { username: 'alice', groups: ['dev'] };
const asked: [UserInfo, Attributes][] = [];
const authorizer: Authorizer = {
  authorize: (user, attributes) => {
    asked.push([user, attributes]);
    return { allowed: user.username === 'alice', reason: 'because' };
  },
  rulesFor: () => ({
    rules: [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
      { verbs: ['get'], nonResourceURLs: ['/api'] },
    ],
  }),
};
const question = (spec: object, metadata: object = {}): KubeObject => ({
  kind: 'R',
  apiVersion: 'v1',
  metadata,
  spec: spec as never,
});
const pods = { resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'x' } };
const path = { nonResourceAttributes: { verb: 'get', path: '/x' } };

it('asks the authoriser what was asked', async () => {
  expect(await reviewOwnAccess(authorizer, alice, question(pods))).toEqual({ allowed: true, reason: 'because' });
  expect(asked.pop()).toEqual([
    alice,
    {
      kind: 'resource',
      verb: 'list',
      group: '',
      version: '',
      resource: 'pods',
      subresource: '',
      namespace: 'x',
      name: '',
    },
  ]);
  expect(await reviewAccess(authorizer, question({ ...path, user: 'bob', groups: ['g'], uid: '1' }))).toEqual({
    allowed: false,
    reason: 'because',
  });
  expect(asked.pop()).toEqual([
    { username: 'bob', groups: ['g'], uid: '1' },
    { kind: 'path', verb: 'get', path: '/x' },
  ]);
});

it.each<[string, () => Promise<unknown>, number, string]>([
  [
    'no question',
    () => reviewOwnAccess(authorizer, alice, question({})),
    422,
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
  ],
  [
    'two questions',
    () => reviewOwnAccess(authorizer, alice, question({ ...pods, ...path })),
    422,
    '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
  ],
  [
    'nobody',
    () => reviewAccess(authorizer, question(pods)),
    422,
    '.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified',
  ],
  [
    'a name',
    () => reviewOwnAccess(authorizer, alice, question(pods, { name: 'n' })),
    422,
    '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"n"}: must be empty',
  ],
  [
    'another namespace',
    () => reviewLocalAccess(authorizer, question({ ...pods, user: 'bob' }), 'y'),
    422,
    '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
  ],
  [
    'a path in a namespace',
    () => reviewLocalAccess(authorizer, question({ ...path, user: 'bob' }), 'y'),
    422,
    '.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
  ],
])('refuses %s', async (_what, ask, code, message) => {
  await expect(ask()).rejects.toMatchObject({ code, message });
});

it('lists rules, those for paths apart', () => {
  expect(reviewOwnRules(authorizer, alice, question({ namespace: 'x' }))).toEqual({
    resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/api'] }],
    incomplete: false,
  });
  expect(() => reviewOwnRules(authorizer, alice, question({}))).toThrow('no namespace on request');
});

it.each([
  ['metadata.name=a', 'a'],
  ['metadata.name==a,type=Opaque', 'a'],
  ['metadata.name!=a', ''],
  ['type!=x\\,metadata.name=a', ''],
  ['metadata.name=', ''],
  ['metadata.name=a/b', ''],
  ['metadata.name=..', ''],
  ['metadata.name', ''],
])('attributesOf() takes the name of a list from %j', (fieldSelector, name) => {
  const requestInfo = {
    kind: 'resource',
    group: '',
    version: 'v1',
    resource: 'secrets',
    subresource: '',
    namespace: 'x',
    name: '',
    verb: 'list',
    rest: [],
  } as const;
  const query = () => new URLSearchParams({ fieldSelector });
  expect(attributesOf('GET', '/', requestInfo, query)).toMatchObject({ verb: 'list', name });
  for (const verb of ['create', 'deletecollection'])
    expect(attributesOf('POST', '/', { ...requestInfo, verb }, query)).toMatchObject({ name: '' });
});
