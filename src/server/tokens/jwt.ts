/**
 * Signed JSON tokens (RFC 7519) as far as a server needs them that knows every key itself.
 *
 * Always true: the key decides the algorithm, never the token. A token that names another (`none` above all), that has
 * no signature, or that is not exactly three parts of base64url is refused before its claims are looked at.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { JsonObject } from '../../api/index.ts';

type Algorithm = 'ES256' | 'RS256';

/** A key pair, or the public half of one. */
export type TokenKey = {
  readonly id: string;
  readonly algorithm: Algorithm;
  readonly publicKey: KeyObject;
  readonly privateKey?: KeyObject;
};

/** Throws for keys that no algorithm of ours fits. */
export function tokenKey(key: KeyObject): TokenKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const algorithm = algorithmOf(publicKey);
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const id = createHash('sha256').update(der).digest('base64url');
  return { id, algorithm, publicKey, ...(key.type === 'private' && { privateKey: key }) };
}

export function signToken(key: TokenKey, claims: object): string {
  if (!key.privateKey) throw new Error('Cannot sign a token: there is only a public key');
  const head = encode({ alg: key.algorithm, kid: key.id });
  const signed = `${head}.${encode(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), keyForm(key.privateKey)).toString('base64url')}`;
}

/** The claims, if one of the keys has signed them. Says nothing about times and audiences. */
export function verifiedClaims(keys: readonly TokenKey[], token: string): JsonObject | undefined {
  const match = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token);
  if (!match) return undefined;
  const [, head = '', claims = '', signature = ''] = match;
  const { alg, kid, crit } = decode(head) ?? {};
  if (crit !== undefined) return undefined; // extensions that must be understood, and are not
  const bytes = Buffer.from(signature, 'base64url');
  const signed = Buffer.from(`${head}.${claims}`);
  const isSigned = keys.some(
    (key) =>
      alg === key.algorithm &&
      (kid === undefined || kid === key.id) &&
      verify('sha256', signed, keyForm(key.publicKey), bytes),
  );
  return isSigned ? decode(claims) : undefined;
}

/** The public half as a JSON Web Key. */
export function publicJwk({ publicKey, id, algorithm }: TokenKey): JsonObject {
  return { use: 'sig', ...(publicKey.export({ format: 'jwk' }) as JsonObject), kid: id, alg: algorithm };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm {
  if (asymmetricKeyType === 'rsa') return 'RS256';
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error(`Cannot sign tokens with a key of type "${asymmetricKeyType}": use RSA or EC P-256`);
}

/** Signatures of curves are the two numbers side by side (RFC 7518, 3.4), not DER. */
function keyForm(key: KeyObject): { key: KeyObject; dsaEncoding: 'ieee-p1363' } {
  return { key, dsaEncoding: 'ieee-p1363' };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
