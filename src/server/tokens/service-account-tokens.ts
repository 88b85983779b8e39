/**
 * Tokens of service accounts: signed here, and good only while everything they name is still there.
 *
 * Always true of a token that is accepted: one of our keys signed it, it is ours (issuer) and meant for us (audience),
 * its time has come and is not over, its service account exists with the uid it was made for, and so does the object it
 * is bound to. Only the signature is remembered, for a short while and for a bounded number of tokens, since it cannot
 * become wrong; the rest is asked every time.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type JsonObject, type KubeObject, wallNow } from '../../api/index.ts';
import { type Authenticator, asAuthenticated, type Verdict } from '../auth/authenticator.ts';
import { serviceAccountGroups, serviceAccountUser } from '../auth/service-account-name.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import { publicJwk, signToken, type TokenKey, verifiedClaims } from './jwt.ts';

const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local';
const CLAIMS_OF_OURS = 'kubernetes.io';
const REMEMBER_MS = 60_000;
const REMEMBER_COUNT = 2000;
/** Longer tokens than any of ours are not worth a hash. */
const MAX_TOKEN_LENGTH = 16 * 1024;
/** What is being deleted still speaks for itself so long. */
const DELETION_LEEWAY_MS = 60_000;

export type TokensOptions = {
  readonly storages: Pick<ResourceStorages, 'storageOf'>;
  /** Signs; all others are only good for checking. */
  readonly key: TokenKey;
  readonly issuer?: string;
  /** Those that stand for this server: the issuer, if nothing is said. */
  readonly audiences?: readonly string[];
  readonly now?: () => number;
};

/** What a token is bound to: it dies with it. */
export type BoundObject = { readonly kind: 'Pod' | 'Secret' | 'Node'; readonly name: string; readonly uid: string };

type Named = { readonly name: string; readonly uid: string };
type OwnClaims = {
  readonly namespace: string;
  readonly serviceaccount: Named;
  readonly pod?: Named;
  readonly secret?: Named;
  readonly node?: Named;
};
type Claims = {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly nbf: number;
  readonly jti: string;
  readonly own: OwnClaims;
};

export class ServiceAccountTokens implements Authenticator {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly #key: TokenKey;
  readonly #storages: Pick<ResourceStorages, 'storageOf'>;
  readonly #now: () => number;
  /** By the hash of the token, oldest first. Only good ones: a flood of bad ones must not push them out. */
  readonly #verified = new Map<string, { readonly claims: Claims; readonly until: number }>();

  constructor({ storages, key, issuer = DEFAULT_ISSUER, audiences = [issuer], now = wallNow }: TokensOptions) {
    this.#storages = storages;
    this.#key = key;
    this.issuer = issuer;
    this.audiences = audiences;
    this.#now = now;
  }

  sign(account: KubeObject, audiences: readonly string[], expiresAtMs: number, bound?: BoundObject): string {
    const { namespace = '', name = '', uid = '' } = account.metadata;
    const nowSeconds = Math.floor(this.#now() / 1000);
    const own = {
      namespace,
      ...(bound && { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } }),
      serviceaccount: { name, uid },
    };
    return signToken(this.#key, {
      aud: audiences,
      exp: Math.floor(expiresAtMs / 1000),
      iat: nowSeconds,
      iss: this.issuer,
      jti: randomUUID(),
      [CLAIMS_OF_OURS]: own,
      nbf: nowSeconds,
      sub: serviceAccountUser(namespace, name),
    });
  }

  /** `audiences`: whom the token must be meant for; this server, if nothing is said. */
  authenticate({
    token,
    audiences = this.audiences,
  }: Parameters<Authenticator['authenticate']>[0]): Verdict | Promise<Verdict> {
    if (token === undefined) return { kind: 'silent' };
    const claims = this.#claimsOf(token);
    if (!claims) return REFUSED;
    const { iss, exp, nbf, aud } = claims;
    const seconds = this.#now() / 1000;
    const meant = new Set(aud);
    const shared = audiences.filter((one) => meant.has(one));
    if (iss !== this.issuer || seconds >= exp || seconds < nbf || shared.length === 0) return REFUSED;
    return this.#ifAllExist(claims, () => ({ kind: 'known', user: userOf(claims), audiences: shared }));
  }

  /** What others need to check our tokens: the keys, and where to find them. */
  keySet(): JsonObject {
    return { keys: [publicJwk(this.#key)] };
  }

  configuration(jwksUri: string): JsonObject {
    return {
      issuer: this.issuer,
      jwks_uri: jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [this.#key.algorithm],
    };
  }

  #claimsOf(token: string): Claims | undefined {
    if (token.length > MAX_TOKEN_LENGTH || !token.includes('.')) return undefined;
    const now = this.#now();
    const hash = createHash('sha256').update(token).digest('base64');
    const known = this.#verified.get(hash);
    if (known && known.until > now) return known.claims;
    const found = verifiedClaims([this.#key], token);
    const claims = found && readClaims(found);
    this.#verified.delete(hash);
    if (!claims) return undefined;
    this.#verified.set(hash, { claims, until: now + REMEMBER_MS });
    if (this.#verified.size > REMEMBER_COUNT) this.#verified.delete(this.#verified.keys().next().value!);
    return claims;
  }

  #ifAllExist({ own }: Claims, accepted: () => Verdict): Verdict | Promise<Verdict> {
    const { namespace, serviceaccount, pod, secret, node } = own;
    const wanted: [plural: string, namespace: string, object: Named | undefined][] = [
      ['serviceaccounts', namespace, serviceaccount],
      ['pods', namespace, pod],
      ['secrets', namespace, secret],
      ['nodes', '', pod ? undefined : node], // beside a pod, the node only says where it ran
    ];
    const checks = wanted.flatMap(([plural, where, object]) => (object ? [this.#exists(plural, where, object)] : []));
    if (checks.every((check) => typeof check === 'boolean')) return checks.every(Boolean) ? accepted() : REFUSED;
    return Promise.all(checks).then((all) => (all.every(Boolean) ? accepted() : REFUSED));
  }

  /** What is not at hand may be too new for that, so then the store is asked. */
  #exists(plural: string, namespace: string, { name, uid }: Named): boolean | Promise<boolean> {
    const storage = this.#storages.storageOf('', plural);
    const cached = storage.objects.peek(namespace, name);
    if (cached && this.#isAlive(cached.parse(), uid)) return true;
    return storage.read(namespace, name).then((found) => found !== undefined && this.#isAlive(found.parse(), uid));
  }

  #isAlive({ metadata }: KubeObject, uid: string): boolean {
    const { deletionTimestamp } = metadata;
    if (metadata.uid !== uid) return false;
    return deletionTimestamp === undefined || Date.parse(deletionTimestamp) + DELETION_LEEWAY_MS > this.#now();
  }
}

const REFUSED: Verdict = { kind: 'refused' };

function userOf({ jti, own }: Claims): UserInfo {
  const { namespace, serviceaccount, pod, node } = own;
  const extra: Record<string, string[]> = { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] };
  for (const [kind, object] of Object.entries({ pod, node })) {
    if (!object) continue;
    extra[`authentication.kubernetes.io/${kind}-name`] = [object.name];
    extra[`authentication.kubernetes.io/${kind}-uid`] = [object.uid];
  }
  return asAuthenticated({
    username: serviceAccountUser(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: serviceAccountGroups(namespace),
    extra,
  });
}

/** Undefined for what is signed by our key but is no token of a service account. */
function readClaims(found: JsonObject): Claims | undefined {
  const { iss, sub, aud, exp, nbf, jti } = found;
  const own = found[CLAIMS_OF_OURS] as unknown as OwnClaims | undefined;
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (typeof iss !== 'string' || typeof exp !== 'number' || typeof nbf !== 'number' || typeof jti !== 'string')
    return undefined;
  if (!own?.serviceaccount?.uid || sub !== serviceAccountUser(own.namespace, own.serviceaccount.name)) return undefined;
  return { iss, sub, aud: audiences.map(String), exp, nbf, jti, own };
}
