import { expect, it } from 'vitest';
import type { UserInfo } from '../request/user-info.ts';
import { type Authenticator, authenticateBy, certificateAuthenticator } from './authenticator.ts';
import { alwaysAllow, attributesOf, forbiddenBy, mastersOnly } from './authorizer.ts';
import { parseBearerHeader } from './bearer-header.ts';
import { adminToken, parseTokens, tokenAuthenticator } from './bearer-tokens.ts';
import { impersonate, isImpersonating } from './impersonation.ts';
import { tokenReviewer } from './token-review.ts';

const tokens = tokenAuthenticator([
  adminToken('secret'),
  ...parseTokens('t1,alice,7,"dev, ops"\n\n# no\nt2,bob\n', 'f'),
]);
const certificates = certificateAuthenticator(() => 1000);
const authenticate = authenticateBy([tokens, certificates], true);
const certificate = { commonName: 'carol', organizations: ['dev'], expiresAtMs: 2000 };

it.each([
  [
    'the administrator',
    { token: 'secret' },
    { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
  ],
  [
    'a token of the file',
    { token: 't1' },
    { username: 'alice', uid: '7', groups: ['dev', 'ops', 'system:authenticated'] },
  ],
  ['a token without groups', { token: 't2' }, { username: 'bob', groups: ['system:authenticated'] }],
  ['a certificate', { certificate }, { username: 'carol', groups: ['dev', 'system:authenticated'] }],
  ['a token before a certificate', { token: 't2', certificate }, { username: 'bob' }],
  ['a certificate beside a bad token', { token: 'x', certificate }, { username: 'carol' }],
  ['nobody', {}, { username: 'system:anonymous', groups: ['system:unauthenticated'] }],
])('authenticate() knows %s', (_who, shown, user) =>
  expect(authenticate({ token: undefined, certificate: undefined, ...shown })).toMatchObject(user),
);

it.each([
  ['a wrong token', { token: 'nope' }],
  ['a certificate nobody vouches for', { certificate: 'unverified' as const }],
  ['a certificate past its time', { certificate: { ...certificate, expiresAtMs: 999 } }],
  ['a certificate without a name', { certificate: { ...certificate, commonName: '' } }],
])('authenticate() refuses %s', (_what, shown) =>
  expect(authenticate({ token: undefined, certificate: undefined, ...shown })).toBeUndefined(),
);

it('authenticate() waits for those who need time, and can do without anonymous users', async () => {
  const late: Authenticator = { authenticate: async () => ({ kind: 'silent' }) };
  const strict = authenticateBy([late, tokens], false);
  expect(await strict({ token: 't2', certificate: undefined })).toMatchObject({ username: 'bob' });
  expect(await strict({ token: undefined, certificate: undefined })).toBeUndefined();
});

it('parseTokens() names the line it cannot read', () => {
  expect(() => parseTokens('a,b\n,x\n', 'tokens.csv')).toThrow('"tokens.csv": line 2 is not token,user,uid');
  expect(parseTokens('t,"u ""x""",,"a,b"', 'f')).toEqual([
    { token: 't', user: { username: 'u "x"', groups: ['a', 'b'] } },
  ]);
});

it.each<[header: string | undefined, token: string | undefined, isIgnored: boolean]>([
  [undefined, undefined, false],
  ['', undefined, false],
  ['Bearer a', 'a', false],
  ['bEaReR a ', 'a', false],
  ['Bearer', undefined, false],
  ['Bearer ', undefined, false],
  ['Bearer\ta', undefined, false],
  ['Bearera', undefined, false],
  ['Basic dTpw', undefined, false],
  ['Bearer x, y', 'x,', false],
  ['Bearer x,y', 'x,y', false],
  ['Bearer a b c', 'a', false],
  ['Bearer  a', undefined, true],
  ['Bearer  a b', undefined, true],
])('parseBearerHeader(%j)', (header, token, isIgnored) =>
  expect(parseBearerHeader(header)).toEqual({ token, isIgnored }),
);

it('a TokenReview looks at the whole token, spaces included', async () => {
  const review = tokenReviewer([tokens], ['here']);
  expect(await review('t2', [])).toMatchObject({ user: { username: 'bob' } });
  expect(await review('t2 junk', [])).toBeUndefined();
});

const alice: UserInfo = { username: 'alice', groups: ['system:authenticated'] };
const master: UserInfo = { username: 'root', groups: ['system:masters'] };

it('mastersOnly lets masters do all and others see only health and version', () => {
  const pods = attributesOf('GET', '/api/v1/pods', {
    kind: 'resource',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: 'log',
    namespace: 'x',
    name: 'p',
    verb: 'get',
    rest: [],
  });
  const path = (method: string, name: string) => attributesOf(method, name, { kind: 'other' });
  expect(mastersOnly.authorize(master, pods)).toEqual({ allowed: true });
  expect(mastersOnly.authorize(alice, pods)).toEqual({ allowed: false });
  expect(alwaysAllow.authorize(alice, pods)).toEqual({ allowed: true });
  expect(mastersOnly.authorize(alice, path('GET', '/readyz'))).toEqual({ allowed: true });
  expect(mastersOnly.authorize(alice, path('POST', '/readyz'))).toEqual({ allowed: false });
  expect(mastersOnly.authorize(alice, path('GET', '/metrics'))).toEqual({ allowed: false });
  expect(forbiddenBy(alice, pods, 'no rule').status).toMatchObject({
    message:
      'pods "p" is forbidden: User "alice" cannot get resource "pods/log" in API group "" in the namespace "x": no rule',
    details: { name: 'p', kind: 'pods' },
  });
  expect(forbiddenBy(alice, path('GET', '/metrics')).status).toMatchObject({ details: {}, code: 403 });
});

it.each([
  [['Impersonate-User', 'bob'], { username: 'bob', groups: ['system:authenticated'] }],
  [
    ['impersonate-user', 'bob', 'Impersonate-Group', 'system:authenticated'],
    { username: 'bob', groups: ['system:authenticated'] },
  ],
  [
    ['Impersonate-User', 'bob', 'Impersonate-Group', 'system:unauthenticated'],
    { username: 'bob', groups: ['system:unauthenticated'] },
  ],
  [['Impersonate-User', 'system:anonymous'], { username: 'system:anonymous', groups: ['system:unauthenticated'] }],
  [
    ['Impersonate-User', 'system:serviceaccount:ns:sa'],
    {
      username: 'system:serviceaccount:ns:sa',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
    },
  ],
  [
    [
      'Impersonate-User',
      'bob',
      'Impersonate-Extra-a%2fb',
      '1',
      'Impersonate-Extra-A%2Fb',
      '2',
      'Impersonate-Extra-__proto__',
      '3',
    ],
    { username: 'bob', groups: ['system:authenticated'], extra: JSON.parse('{"a/b":["1","2"],"__proto__":["3"]}') },
  ],
])('impersonate(%j)', async (headers, user) => expect(await impersonate(master, headers, mastersOnly)).toEqual(user));

it('impersonate() needs the right for every part, and a user', async () => {
  await expect(impersonate(alice, ['Impersonate-User', 'bob'], mastersOnly)).rejects.toThrow(
    'cannot impersonate resource "users"',
  );
  await expect(impersonate(master, ['Impersonate-Group', 'g'], mastersOnly)).rejects.toThrow('without a user');
  expect(await impersonate(alice, ['Accept', 'x'], mastersOnly)).toBe(alice);
  expect([isImpersonating({ accept: 'x' }), isImpersonating({ 'impersonate-uid': '1' })]).toEqual([false, true]);
});
