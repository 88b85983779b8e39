/**
 * What an `Authorization` header shows: a bearer token, or nothing that we know.
 *
 * kube-apiserver splits it at single spaces: the first word is the scheme, the second the token, and what follows
 * counts for nothing. So `Bearer a, b` shows the token `a,`, which nobody knows: that is a 401. A second space before
 * the token makes the token empty: that shows nothing, and the client is warned.
 */

export type BearerHeader = {
  readonly token: string | undefined;
  /** The token came after one space too many, and is not looked at. */
  readonly isIgnored: boolean;
};

export const IGNORED_TOKEN =
  'the provided Authorization header contains extra space before the bearer token, and is ignored';

const NOTHING: BearerHeader = { token: undefined, isIgnored: false };

export function parseBearerHeader(authorization: string | undefined): BearerHeader {
  if (!authorization) return NOTHING;
  const header = authorization.trim();
  const schemeEnd = header.indexOf(' ');
  if (schemeEnd !== SCHEME.length || header.slice(0, schemeEnd).toLowerCase() !== SCHEME) return NOTHING;
  const tokenEnd = header.indexOf(' ', schemeEnd + 1);
  const token = header.slice(schemeEnd + 1, tokenEnd === -1 ? undefined : tokenEnd);
  return token === '' ? { token: undefined, isIgnored: true } : { token, isIgnored: false };
}

const SCHEME = 'bearer';
