import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { publicJwk, signToken, tokenKey, verifiedClaims } from './jwt.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { ensureSigningKey } from './signing-key.ts';
import { answerTokenRequest, checkTokenName, completeTokenRequest, type TokenRequestTools } from './token-request.ts';

const curve = tokenKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const rsa = tokenKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('signed tokens', () => {
  it.each([
    ['ES256', curve],
    ['RS256', rsa],
  ])('%s: what is signed can be read again, by that key only', (algorithm, key) => {
    const token = signToken(key, { sub: 'a' });
    expect(JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())).toEqual({
      alg: algorithm,
      kid: key.id,
    });
    expect(verifiedClaims([key], token)).toEqual({ sub: 'a' });
    expect(verifiedClaims([key === rsa ? curve : rsa], token)).toBeUndefined();
    expect(verifiedClaims([curve, rsa], token)).toEqual({ sub: 'a' });
  });

  const good = signToken(curve, { sub: 'a' });
  const [head = '', claims = '', signature = ''] = good.split('.');
  it.each([
    ['no parts', 'x'],
    ['four parts', `${good}.x`],
    ['an empty signature', `${head}.${claims}.`],
    ['other claims', `${head}.${part({ sub: 'b' })}.${signature}`],
    ['the algorithm none', `${part({ alg: 'none', kid: curve.id })}.${claims}.${signature}`],
    ['another algorithm', `${part({ alg: 'RS256', kid: curve.id })}.${claims}.${signature}`],
    ['another key id', `${part({ alg: 'ES256', kid: 'x' })}.${claims}.${signature}`],
    ['a critical extension', `${part({ alg: 'ES256', kid: curve.id, crit: ['b64'] })}.${claims}.${signature}`],
    ['a head that is no object', `${Buffer.from('[]').toString('base64url')}.${claims}.${signature}`],
    ['a signature of zeros', `${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`],
  ])('a token with %s is nothing', (_what, token) => expect(verifiedClaims([curve], token)).toBeUndefined());

  it('a public key says nothing private', () => {
    expect(Object.keys(publicJwk(curve)).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    expect(Object.keys(publicJwk(rsa)).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });
});

it('ensureSigningKey() makes a key once, for its owner only, and never replaces one it cannot read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'longwatch-key-'));
  try {
    const { id } = ensureSigningKey(folder);
    const file = join(folder, 'pki', 'service-account.key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(ensureSigningKey(folder).id).toBe(id);
    writeFileSync(file, 'torn');
    expect(() => ensureSigningKey(folder)).toThrow('Cannot read the key of service accounts');
    expect(readFileSync(file, 'utf8')).toBe('torn');
    expect(() => ensureSigningKey(folder, join(folder, 'none'))).toThrow('ENOENT');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const account: KubeObject = {
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata: { name: 'bot', namespace: 'ci', uid: 'u-1' },
};
const pod: KubeObject = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'ci', uid: 'u-2' },
  spec: { serviceAccountName: 'bot' },
};

/** Only what tokens ask of resources: is it in the cache, is it in the store. */
function world(...objects: KubeObject[]) {
  const there = new Map(objects.map((object) => [`${object.metadata.namespace}/${object.metadata.name}`, object]));
  const cached = (key: string) => {
    const object = there.get(key);
    return object && { parse: () => object };
  };
  const peek = (namespace: string, name: string) => cached(`${namespace}/${name}`);
  const read = async (namespace: string, name: string) => peek(namespace, name);
  const resource = (plural: string) => ({ group: '', plural });
  return {
    there,
    storageOf: (_group: string, plural: string) =>
      ({ objects: { peek }, read, resource: resource(plural) }) as unknown as ResourceStorage,
  };
}

describe('tokens of service accounts', () => {
  let now = 1_000_000_000_000;
  const { there, storageOf } = world(account, pod);
  const tokens = new ServiceAccountTokens({ storages: { storageOf }, key: curve, now: () => now });
  const login = (token: string, audiences?: string[]) =>
    Promise.resolve(
      tokens.authenticate({
        token,
        certificate: undefined,
        ...(audiences && { audiences }),
      }),
    );
  const kinds = async (token: string, audiences?: string[]) => (await login(token, audiences)).kind;

  it('are good until their time is over', async () => {
    const token = tokens.sign(account, tokens.audiences, now + 600_000);
    expect(await login(token)).toMatchObject({
      kind: 'known',
      user: {
        username: 'system:serviceaccount:ci:bot',
        uid: 'u-1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
      },
    });
    now += 599_000;
    expect(await kinds(token)).toBe('known');
    now += 1000;
    expect(await kinds(token)).toBe('refused');
  });

  it('are good for their audience', async () => {
    const token = tokens.sign(account, ['vault', 'bank'], now + 600_000);
    expect(await kinds(token)).toBe('refused');
    expect(await login(token, ['bank', 'x'])).toMatchObject({ kind: 'known', audiences: ['bank'] });
    expect(await kinds(token, ['x'])).toBe('refused');
  });

  it('a review of many audiences grows with their number', () =>
    expectLinear('audiences', {
      make: (size) => {
        const token = tokens.sign(
          account,
          Array.from({ length: size }, (_, i) => `${i}`),
          now + 600_000,
        );
        return { token, asked: Array.from({ length: size * 50 }, (_, i) => `x${i}`) };
      },
      from: 200,
      limit: 1600,
      run: ({ token, asked }) => login(token, asked),
    }));

  it('end with what they are bound to', async () => {
    const token = tokens.sign(account, tokens.audiences, now + 600_000, { kind: 'Pod', name: 'p', uid: 'u-2' });
    expect(await login(token)).toMatchObject({
      user: {
        extra: { 'authentication.kubernetes.io/pod-name': ['p'], 'authentication.kubernetes.io/pod-uid': ['u-2'] },
      },
    });
    there.set('ci/p', { ...pod, metadata: { ...pod.metadata, uid: 'u-3' } });
    expect(await kinds(token)).toBe('refused');
    there.delete('ci/p');
    expect(await kinds(token)).toBe('refused');
    there.set('ci/p', pod);
  });

  it('end with their account, a minute after its deletion began', async () => {
    const token = tokens.sign(account, tokens.audiences, now + 600_000);
    const deletionTimestamp = new Date(now).toISOString();
    there.set('ci/bot', { ...account, metadata: { ...account.metadata, deletionTimestamp } });
    expect(await kinds(token)).toBe('known');
    now += 61_000;
    expect(await kinds(token)).toBe('refused');
    there.delete('ci/bot');
    expect(await kinds(token)).toBe('refused');
    there.set('ci/bot', account);
  });

  it('are no business of other schemes, and nothing else is a token', async () => {
    const silent = tokens.authenticate({ token: undefined, certificate: undefined });
    expect(silent).toEqual({ kind: 'silent' });
    expect(await kinds('opaque')).toBe('refused');
    expect(await kinds(`${'a'.repeat(20_000)}.b.c`)).toBe('refused');
    expect(await kinds(signToken(curve, { iss: tokens.issuer, exp: now, sub: 'root' }))).toBe('refused');
  });
});

describe('answerTokenRequest()', () => {
  const { storageOf, there } = world(account, pod);
  const tokens = new ServiceAccountTokens({ storages: { storageOf }, key: curve });
  const tools: TokenRequestTools = {
    tokens,
    storageOf,
    nowMs: 1_000_000_000_500,
    read: async (_view, namespace, name) => there.get(`${namespace}/${name}`),
  };
  const ask = async (spec: object, metadata: object = {}) => {
    const request = { kind: 'TokenRequest', metadata, spec } as unknown as KubeObject;
    checkTokenName(request, 'bot');
    return answerTokenRequest(completeTokenRequest(request, account, tools), account, tools);
  };

  it('fills in what was not asked for', async () => {
    const { metadata, spec, status } = (await ask({})) as Record<string, JsonObject>;
    expect(metadata).toEqual({ name: 'bot', namespace: 'ci', uid: 'u-1', creationTimestamp: '2001-09-09T01:46:40Z' });
    expect(spec).toEqual({ audiences: [tokens.issuer], expirationSeconds: 3600, boundObjectRef: null });
    expect(status!.expirationTimestamp).toBe('2001-09-09T02:46:40Z');
    expect(verifiedClaims([curve], String(status!.token))).toMatchObject({
      sub: 'system:serviceaccount:ci:bot',
      'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'bot', uid: 'u-1' } },
    });
  });

  it.each<[string, object, object, number, string]>([
    ['too short a time', { expirationSeconds: 599 }, {}, 422, 'may not specify a duration less than 10 minutes'],
    ['too long a time', { expirationSeconds: 2 ** 33 }, {}, 422, 'may not specify a duration larger than 2^32 seconds'],
    [
      'another name',
      {},
      { name: 'x' },
      422,
      '"bot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      'another uid',
      {},
      { uid: 'u-0' },
      409,
      'on TokenRequest.authentication.k8s.io "bot": the UID in the token request (u-0) does not match the UID of the service account (u-1)',
    ],
    [
      'an object of no such kind',
      { boundObjectRef: { kind: 'Job', apiVersion: 'batch/v1' } },
      {},
      400,
      'cannot bind token to object of type batch/v1, Kind=Job',
    ],
    [
      'an object of another kind of the core group',
      { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1' } },
      {},
      400,
      'cannot bind token to object of type /v1, Kind=ConfigMap',
    ],
    [
      'an object that is not',
      { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'q' } },
      {},
      404,
      '"q" not found',
    ],
    [
      'an earlier object',
      { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'old' } },
      {},
      409,
      'on Pod "p": the UID in the bound object reference (old) does not match',
    ],
  ])('refuses %s', async (_what, spec, metadata, code, text) => {
    const refusal = await ask(spec, metadata).catch((err: unknown) => err as { code: number; message: string });
    expect(refusal).toMatchObject({ code, message: expect.stringContaining(text) });
  });

  it('keeps what else was said of it', async () => {
    const { metadata } = await ask({}, { name: 'bot', labels: { a: 'b' }, uid: 'u-1' });
    expect(metadata).toMatchObject({ name: 'bot', labels: { a: 'b' }, uid: 'u-1' });
  });

  it('binds to a pod of the account only', async () => {
    const ref = { kind: 'Pod', apiVersion: 'v1', name: 'p' };
    const { status } = (await ask({ boundObjectRef: ref })) as { status: { token: string } };
    expect(verifiedClaims([curve], status.token)?.['kubernetes.io']).toMatchObject({ pod: { name: 'p', uid: 'u-2' } });
    there.set('ci/p', { ...pod, spec: { serviceAccountName: 'other' } });
    await expect(ask({ boundObjectRef: ref })).rejects.toThrow('different serviceaccount name');
  });
});
