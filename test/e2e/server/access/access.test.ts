/** Attempts to get in, to get further, and to stay in, over real TLS against a whole server. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, makeClientCertificate } from '../../../../src/certificates/certificate.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Grounds, startGrounds } from './access-grounds.ts';

let grounds: Grounds;
let uid: string;
/** A good token of the service account `bob`, and the claims in it. */
let bob: string;
// biome-ignore lint/suspicious/noExplicitAny: claims are taken apart and put together at will
let claims: any;

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const secrets = '/api/v1/namespaces/default/secrets';
const rules = (...list: [string, string, string][]) =>
  list.map(([verbs, group, resources]) => ({
    verbs: verbs.split(' '),
    apiGroups: [group],
    resources: resources.split(' '),
  }));
const bind = (name: string, role: string, kind: string, subject: string) => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
  subjects: [{ kind, name: subject, ...(kind === 'ServiceAccount' && { namespace: 'default' }) }],
});

beforeAll(async () => {
  grounds = await startGrounds();
  const { admin } = grounds;
  const account = await admin('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'bob' } });
  uid = account.metadata.uid;
  await admin('POST', secrets, { metadata: { name: 'crown' }, stringData: { jewels: 'ruby' } });
  await admin('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'open' }, data: { a: 'b' } });
  await admin('POST', `${RBAC}/namespaces/default/roles`, {
    metadata: { name: 'reader' },
    rules: rules(['get list watch', '', 'configmaps'], ['get', '', 'pods']),
  });
  await admin('POST', `${RBAC}/namespaces/default/rolebindings`, bind('bob-reads', 'reader', 'ServiceAccount', 'bob'));
  bob = (await admin('POST', '/api/v1/namespaces/default/serviceaccounts/bob/token', {})).status.token;
  claims = JSON.parse(Buffer.from(bob.split('.')[1]!, 'base64url').toString());
});
afterAll(() => grounds?.[Symbol.asyncDispose]());

const get = (path: string, token?: string) => grounds.ask(path, { token });
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('without a credential', () => {
  it.each(['/healthz', '/livez', '/readyz', '/version'])('%s answers', async (path) =>
    expect((await get(path)).code).toBe(200),
  );

  it.each([
    ...['/', '/api', '/apis', '/metrics', '/openapi/v2', '/openapi/v3', '/nothing', '/version/..', '/healthz/../api'],
    ...['/.well-known/openid-configuration', '/openid/v1/jwks', '/HEALTHZ', '//healthz', '/healthz%2f..%2fapi'],
    ...['/api/v1/namespaces', secrets, `${secrets}/crown`, `${secrets}?watch=1`, '/api/v1/watch/secrets'],
  ])('%s is forbidden', async (path) => {
    const { code, text } = await get(path);
    expect([code, text.includes('ruby')]).toEqual([403, false]);
  });

  it('neither writes nor reviews are answered', async () => {
    for (const path of ['/api/v1/namespaces', '/apis/authentication.k8s.io/v1/tokenreviews'])
      expect((await grounds.ask(path, { method: 'POST', body: {} })).code).toBe(403);
    const own = await grounds.ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      method: 'POST',
      body: {},
    });
    expect(own.code).toBe(403);
  });
});

describe('tokens', () => {
  it('a good one is let in as its service account', async () => {
    const who = await grounds.ask('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      token: bob,
      body: {},
    });
    expect(who.body.status.userInfo).toMatchObject({
      username: 'system:serviceaccount:default:bob',
      uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    });
  });

  const now = () => Math.floor(Date.now() / 1000);
  it.each<[string, () => string]>([
    ['an expired one', () => grounds.forge({ ...claims, exp: now() - 1 })],
    ['one from the future', () => grounds.forge({ ...claims, nbf: now() + 600 })],
    ['one without an end', () => grounds.forge({ ...claims, exp: undefined })],
    ['one for others', () => grounds.forge({ ...claims, aud: ['vault'] })],
    ['one of another issuer', () => grounds.forge({ ...claims, iss: 'https://elsewhere' })],
    ['one in another name', () => grounds.forge({ ...claims, sub: 'system:serviceaccount:kube-system:root' })],
    ['one of an earlier account', () => grounds.forge(withAccount({ uid: crypto.randomUUID() }))],
    ['one of an account that is not', () => grounds.forge(withAccount({ name: 'eve' }, 'eve'))],
    [
      'one bound to a pod that is not',
      () => grounds.forge({ ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], pod: { name: 'p', uid: 'x' } } }),
    ],
    [
      'one signed by a stranger',
      () => grounds.forge(claims, generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
    ],
    [
      'one signed by a stranger with RSA',
      () => grounds.forge(claims, generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
    ],
    ['one with alg none', () => `${base64({ alg: 'none' })}.${base64(claims)}.`],
    ['one with alg none and our key id', () => `${base64({ ...headOf(bob), alg: 'none' })}.${base64(claims)}.AAAA`],
    ['one with changed claims', () => swapPart(bob, 1, base64({ ...claims, exp: claims.exp + 9999 }))],
    [
      'one with an HMAC over our public key',
      () => `${base64({ ...headOf(bob), alg: 'HS256' })}.${bob.split('.').slice(1).join('.')}`,
    ],
    ['one without a signature', () => `${bob.split('.').slice(0, 2).join('.')}.`],
    ['half of one', () => bob.slice(0, -10)],
    [
      'the certificate key as a token',
      () => readFileSync(join(grounds.dataDir, 'pki', 'service-account.key'), 'base64'),
    ],
    ['a prefix of the administrator', () => grounds.adminToken.slice(0, -1)],
  ])('%s is refused, for health too', async (_what, make) => {
    const token = make();
    expect((await get('/api/v1/namespaces/default/configmaps', token)).code).toBe(401);
    expect((await get('/healthz', token)).code).toBe(401);
  });

  it('TokenReview says whose a token is, and for whom', async () => {
    const review = async (spec: object) =>
      (await grounds.admin('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec })).status;
    expect(await review({ token: bob })).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:default:bob' },
      audiences: claims.aud,
    });
    expect(await review({ token: bob, audiences: ['vault'] })).toEqual({ user: {}, error: 'invalid bearer token' });
    const forVault = grounds.forge({ ...claims, aud: ['vault'] });
    expect(await review({ token: forVault, audiences: ['x', 'vault'] })).toMatchObject({ audiences: ['vault'] });
    expect(await review({ token: forVault })).toEqual({ user: {}, error: 'invalid bearer token' });
    expect(await review({ token: grounds.adminToken, audiences: ['vault'] })).toMatchObject({ user: {} });
  });

  it('end with their account', async () => {
    const { admin } = grounds;
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await admin('POST', accounts, { metadata: { name: 'brief' } });
    const { token } = (await admin('POST', `${accounts}/brief/token`, {})).status;
    expect((await get('/api', token)).code).toBe(200);
    await admin('DELETE', `${accounts}/brief`);
    expect((await get('/api', token)).code).toBe(401);
    await admin('POST', accounts, { metadata: { name: 'brief' } });
    expect((await get('/api', token)).code).toBe(401);
  });

  const withAccount = (change: object, name = 'bob') => {
    const own = claims['kubernetes.io'];
    return {
      ...claims,
      sub: `system:serviceaccount:default:${name}`,
      'kubernetes.io': { ...own, serviceaccount: { ...own.serviceaccount, ...change } },
    };
  };
  const headOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
  const swapPart = (token: string, at: number, part: string) => token.split('.').with(at, part).join('.');
});

it('a certificate of another authority is refused', async () => {
  const validity = { from: new Date(Date.now() - 1000), to: new Date(Date.now() + 60_000) };
  const subject = { commonName: 'longwatch-ca' };
  const authority = makeAuthority(subject, validity);
  const key = createPrivateKey(authority.keyPem);
  const certificate = makeClientCertificate(
    { subject, key, publicKey: createPublicKey(key) },
    { commonName: 'root', organizations: ['system:masters'] },
    validity,
  );
  for (const path of ['/api', '/healthz', secrets])
    expect(
      await grounds.ask(path, { certificate }).then(
        ({ code }) => code,
        () => 401,
      ),
    ).toBe(401);
});

describe('a reader of config maps', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps';

  it('reads them, and nothing else', async () => {
    expect((await get(`${configMaps}/open`, bob)).body.data).toEqual({ a: 'b' });
    for (const path of [secrets, `${secrets}/crown`, '/api/v1/configmaps', '/api/v1/namespaces/kube-system/configmaps'])
      expect((await get(path, bob)).code).toBe(403);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await grounds.ask(`${configMaps}/open`, { method, token: bob, body: {} })).code).toBe(403);
  });

  it.each([
    ...[
      '/api/v1//namespaces/default/secrets',
      '//api/v1/namespaces/default/secrets',
      `${secrets}/`,
      `${secrets}//crown`,
    ],
    ...[
      '/api/v1/namespaces/default/configmaps/../secrets',
      '/api/v1/namespaces/default/configmaps/%2e%2e/secrets/crown',
    ],
    ...['/api/v1/namespaces/default/configmaps%2f..%2fsecrets', '/api/v1/namespaces/default%2fsecrets/crown'],
    ...[
      '/api/v1/namespaces/default/Secrets',
      '/API/v1/namespaces/default/secrets',
      '/api/V1/namespaces/default/secrets',
    ],
    ...['/api/v1/namespaces/default/secrets;x', '/api/v1/namespaces/default/configmaps/open/../../secrets/crown'],
    ...[
      '/api/v1/namespaces/default/configmaps?x=/../secrets',
      '/api/v1/namespaces/default/secrets%00',
      '/api/v1/secrets%3fa',
    ],
    ...['/api/v1/watch/namespaces/default/secrets', '/api/v1/watch/namespaces/default/secrets/crown'],
    ...[
      '/api/v1/namespaces/default/secrets/crown/status',
      '/apis//v1/namespaces/default/secrets',
      `https://127.0.0.1${secrets}`,
    ],
  ])('finds no secrets by %s', async (path) => {
    for (const suffix of ['', path.includes('?') ? '&watch=1&timeoutSeconds=1' : '?watch=1&timeoutSeconds=1']) {
      const { text, code } = await get(path + suffix, bob);
      expect([text.includes('ruby') || text.includes('cnVieQ'), text.includes('"crown"') && code < 400]).toEqual([
        false,
        false,
      ]);
    }
  });

  it.each([`${secrets}?watch=1`, '/api/v1/secrets?watch=1&resourceVersion=1', `${secrets}?limit=1&watch=true`])(
    'may not watch %s',
    async (path) => {
      const stream = await grounds.watch(path, { token: bob });
      stream.close();
      expect(stream.code).toBe(403);
    },
  );

  it('has no right to parts of what it may read', async () => {
    const { body } = await get('/api/v1/namespaces/default/pods/p/log', bob);
    expect(body.message).toBe(
      'pods "p" is forbidden: User "system:serviceaccount:default:bob" cannot get resource "pods/log" in API group "" in the namespace "default"',
    );
    for (const part of ['status', 'exec', 'ephemeralcontainers', 'proxy/x'])
      expect((await get(`/api/v1/namespaces/default/pods/p/${part}`, bob)).code).toBe(403);
    const token = { method: 'POST', token: bob, body: {} };
    expect((await grounds.ask('/api/v1/namespaces/default/serviceaccounts/bob/token', token)).code).toBe(403);
  });

  it('who may see one object may list and watch that one', async () => {
    const { admin, ask } = grounds;
    await admin('POST', `${RBAC}/namespaces/default/roles`, {
      metadata: { name: 'one' },
      rules: rules(['get list watch', '', 'secrets']).map((rule) => ({ ...rule, resourceNames: ['other'] })),
    });
    await admin('POST', `${RBAC}/namespaces/default/rolebindings`, bind('one', 'one', 'User', 'uno'));
    const uno = async (query: string) =>
      (await ask(secrets + query, { token: grounds.adminToken, headers: ['Impersonate-User', 'uno'] })).code;
    expect(await uno('?fieldSelector=metadata.name%3Dother')).toBe(200);
    expect(await uno('?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dother')).toBe(200);
    const tricks = [
      'metadata.name!=other',
      'metadata.name=crown',
      'type!=x\\,metadata.name=other',
      'metadata.name=other%',
    ];
    for (const trick of ['', ...tricks].map((text) => `?fieldSelector=${encodeURIComponent(text)}`))
      expect(await uno(trick)).toBe(403);
    expect(await uno('?fieldSelector=&fieldSelector=metadata.name%3Dother')).toBe(403);
  });

  it('loses an open watch with the right to it', async () => {
    const bindings = `${RBAC}/namespaces/default/rolebindings`;
    const { admin } = grounds;
    await admin('POST', bindings, bind('watcher', 'reader', 'User', 'walt'));
    const walt = ['Impersonate-User', 'walt'];
    const stream = await grounds.watch(`${configMaps}?watch=1`, { token: grounds.adminToken, headers: walt });
    const other = await grounds.watch(`${configMaps}?watch=1`, { token: bob });
    await eventually(() => expect(stream.lines.length).toBeGreaterThan(0));
    await admin('DELETE', `${bindings}/watcher`);
    await stream.ended;
    expect(await Promise.race([other.ended.then(() => 'ended'), sleep(300).then(() => 'open')])).toBe('open');
    other.close();
    expect((await grounds.ask(configMaps, { token: grounds.adminToken, headers: walt })).code).toBe(403);
  });
});

describe('acting as somebody else', () => {
  it.each([
    [['Impersonate-User', 'kubernetes-admin']],
    [['impersonate-user', 'kubernetes-admin', 'IMPERSONATE-GROUP', 'system:masters']],
    [['Impersonate-User', 'system:serviceaccount:default:bob', 'Impersonate-Group', 'system:masters']],
    [['Impersonate-User', 'system:serviceaccount:kube-system:root']],
    [['Impersonate-Group', 'x', 'Impersonate-User', '', 'Impersonate-User', 'kubernetes-admin']],
    [['Impersonate-User', 'system:anonymous', 'Impersonate-Extra-Scopes', 'all']],
  ])('needs the right: %j', async (headers) => {
    const { code, text } = await grounds.ask(secrets, { token: bob, headers });
    expect([code, text.includes('ruby')]).toEqual([403, false]);
  });

  it('is not asked for by an empty user or uid', async () => {
    for (const name of ['Impersonate-User', 'Impersonate-Uid'])
      expect((await grounds.ask(secrets, { token: grounds.adminToken, headers: [name, ''] })).code).toBe(200);
    const headers = ['Impersonate-User', '', 'Impersonate-Group', 'g'];
    expect((await grounds.ask(secrets, { token: grounds.adminToken, headers })).code).toBe(500);
  });

  it('needs it for each part', async () => {
    const { admin, ask } = grounds;
    await admin('POST', `${RBAC}/clusterroles`, {
      metadata: { name: 'mimic' },
      rules: [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['alice'] }],
    });
    await admin('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'mimic' },
      roleRef: { kind: 'ClusterRole', name: 'mimic', apiGroup: 'rbac.authorization.k8s.io' },
      subjects: [{ kind: 'ServiceAccount', name: 'bob', namespace: 'default' }],
    });
    const as = (...headers: string[]) =>
      ask('/api', { token: bob, headers: ['Impersonate-User', 'alice', ...headers] });
    expect((await as()).code).toBe(200);
    const refused = [
      ['Impersonate-Group', 'system:masters'],
      ['impersonate-group', 'dev', 'Impersonate-Group', 'system:masters'],
      ['Impersonate-Uid', '1'],
      ['Impersonate-Extra-Scopes', 'all'],
      ['X-Nothing', '1', 'iMpErSoNaTe-gRoUp', 'system:masters'],
    ];
    for (const headers of refused) expect((await as(...headers)).code).toBe(403);
    // Of two names the first counts, and it is the first that is checked.
    expect((await as('Impersonate-User', 'kubernetes-admin')).code).toBe(200);
    expect(
      (await ask('/api', { token: bob, headers: ['Impersonate-User', 'root', 'Impersonate-User', 'alice'] })).code,
    ).toBe(403);
  });

  it('groups, uids and extras do not come without a user', async () => {
    const headers = ['Impersonate-Group', 'system:masters'];
    expect((await grounds.ask('/api', { token: grounds.adminToken, headers })).code).toBe(500);
  });
});

describe('giving away', () => {
  it('nobody grants what he does not have', async () => {
    const { admin, ask } = grounds;
    const roles = `${RBAC}/namespaces/default/roles`;
    await admin('POST', roles, {
      metadata: { name: 'role-writer' },
      rules: rules(
        ['create update patch get', 'rbac.authorization.k8s.io', 'roles rolebindings'],
        ['get', '', 'configmaps'],
      ),
    });
    await admin('POST', `${RBAC}/namespaces/default/rolebindings`, bind('rita', 'role-writer', 'User', 'rita'));
    const rita = (method: string, path: string, body: unknown, contentType = 'application/json') =>
      ask(path, { method, token: grounds.adminToken, headers: ['Impersonate-User', 'rita'], body, contentType });

    const small = { metadata: { name: 'small' }, rules: rules(['get', '', 'configmaps']) };
    expect((await rita('POST', roles, small)).code).toBe(201);
    const large = { metadata: { name: 'large' }, rules: rules(['get list', '', 'secrets']) };
    const refusal = await rita('POST', roles, large);
    expect(refusal.body).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message:
        'roles.rbac.authorization.k8s.io "large" is forbidden: user "rita" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
      details: { name: 'large', group: 'rbac.authorization.k8s.io', kind: 'roles' },
    });
    expect((await rita('POST', `${roles}?dryRun=All`, large)).code).toBe(403);
    expect((await rita('PUT', `${roles}/small`, { ...large, metadata: { name: 'small' } })).code).toBe(403);
    const widen = [{ op: 'replace', path: '/rules', value: large.rules }];
    expect((await rita('PATCH', `${roles}/small`, widen, 'application/json-patch+json')).code).toBe(403);
    const apply = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', ...large };
    const applied = await rita('PATCH', `${roles}/large?fieldManager=m`, apply, 'application/apply-patch+yaml');
    expect(applied.code).toBe(403);

    const bindings = `${RBAC}/namespaces/default/rolebindings`;
    expect((await rita('POST', bindings, bind('to-small', 'small', 'User', 'rita'))).code).toBe(201);
    expect((await rita('POST', bindings, bind('to-reader', 'reader', 'User', 'rita'))).code).toBe(403);
    const toAdmin = bind('to-admin', 'cluster-admin', 'User', 'rita');
    toAdmin.roleRef.kind = 'ClusterRole';
    expect((await rita('POST', bindings, toAdmin)).code).toBe(403);
    expect((await rita('POST', bindings, bind('to-nothing', 'nothing', 'User', 'rita'))).code).toBe(404);

    await admin('PATCH', `${roles}/role-writer`, [
      { op: 'add', path: '/rules/0/verbs/-', value: 'escalate' },
      { op: 'add', path: '/rules/0/verbs/-', value: 'bind' },
    ]);
    expect((await rita('POST', roles, large)).code).toBe(201);
    expect((await rita('POST', bindings, bind('to-large', 'large', 'User', 'rita'))).code).toBe(201);
  });

  it('only who has everything lets a role gather others', async () => {
    const { admin, ask } = grounds;
    await admin('POST', `${RBAC}/clusterroles`, {
      metadata: { name: 'cluster-writer' },
      rules: rules(['create', 'rbac.authorization.k8s.io', 'clusterroles']),
    });
    await admin('POST', `${RBAC}/clusterrolebindings`, {
      ...bind('carl', 'cluster-writer', 'User', 'carl'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-writer' },
    });
    const body = { metadata: { name: 'greedy' }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: {} }] } };
    const headers = ['Impersonate-User', 'carl'];
    const refusal = await ask(`${RBAC}/clusterroles`, { method: 'POST', token: grounds.adminToken, headers, body });
    expect(refusal.body.message).toBe(
      'clusterroles.rbac.authorization.k8s.io "greedy" is forbidden: must have cluster-admin privileges to use an aggregationRule',
    );
  });
});

it('the audit log tells of all this, and of no token or content', async () => {
  const read = () => readFileSync(join(grounds.dataDir, 'audit.log'), 'utf8');
  // It is written behind the answers, in their order: the last that was asked for is the last to come.
  const last = 'the-end-of-the-log';
  await grounds.ask(`/api/v1/namespaces/default/configmaps/${last}`, { token: grounds.adminToken });
  await eventually(() => expect(read()).toMatch(new RegExp(`${last}.*\n$`, 's')));
  const text = read();
  const events = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual(
    expect.objectContaining({
      verb: 'list',
      impersonatedUser: expect.objectContaining({ username: 'walt' }),
      user: expect.objectContaining({ username: 'kubernetes-admin' }),
      objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
      responseStatus: { metadata: {}, status: 'Failure', code: 403 },
      sourceIPs: ['127.0.0.1'],
    }),
  );
  for (const secret of ['ruby', 'cnVieQ', bob, bob.split('.')[2]!, grounds.adminToken, 'Bearer'])
    expect(text.includes(secret)).toBe(false);
});
