/**
 * Authentication and authorisation of one server, put together: the authenticators, the RBAC authoriser, what keeps
 * writers from giving away rights they do not have, and the tokens of service accounts.
 */

import { type Authenticate, authenticateBy, certificateAuthenticator } from './auth/authenticator.ts';
import { type Authorizer, alwaysAllow } from './auth/authorizer.ts';
import { adminToken, type KnownToken, readTokenFile, tokenAuthenticator } from './auth/bearer-tokens.ts';
import { controllerTokens } from './auth/controller-tokens.ts';
import { type ReviewToken, tokenReviewer } from './auth/token-review.ts';
import { escalationGuard, type WriteGuard } from './rbac/escalation.ts';
import { RbacAuthorizer } from './rbac/rbac-authorizer.ts';
import type { ServerOptions } from './server-options.ts';
import type { ResourceStorages } from './storage/resource-storages.ts';
import { ServiceAccountTokens } from './tokens/service-account-tokens.ts';
import { ensureSigningKey } from './tokens/signing-key.ts';

export type Access = {
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly reviewToken: ReviewToken;
  readonly tokens: ServiceAccountTokens;
  readonly guard: WriteGuard;
  /** What `--token-auth-file` held, and how to put others in their place. */
  readonly fromFile: readonly KnownToken[];
  readonly setTokensOfFile: (fresh: readonly KnownToken[]) => void;
};

/** `onRightsChanged`: told after every change of a role or binding, if those decide. */
export function makeAccess(
  options: ServerOptions,
  dataDir: string,
  administratorsToken: string,
  storages: ResourceStorages,
  onRightsChanged: () => void,
): Access {
  const own = [adminToken(administratorsToken)];
  const fromFile = options.tokenAuthFile ? readTokenFile(options.tokenAuthFile) : [];
  const known = tokenAuthenticator([...own, ...fromFile]);
  const tokens = new ServiceAccountTokens({
    storages,
    key: ensureSigningKey(dataDir, options.serviceAccountSigningKeyFile, options.durability),
    ...(options.serviceAccountIssuer && { issuer: options.serviceAccountIssuer }),
  });
  const { controllersToken } = options;
  const byToken = [...(controllersToken ? [controllerTokens(controllersToken)] : []), known, tokens];
  const rbac = new RbacAuthorizer();
  rbac.follow(storages);
  const authorizer = options.authorizationMode === 'AlwaysAllow' ? alwaysAllow : rbac;
  if (authorizer === rbac) rbac.onChange(onRightsChanged);
  return {
    authenticate: authenticateBy([...byToken, certificateAuthenticator()], options.anonymousAuth ?? true),
    authorizer,
    reviewToken: tokenReviewer(byToken, tokens.audiences),
    tokens,
    fromFile,
    setTokensOfFile: (fresh) => known.know([...own, ...fresh]),
    guard: escalationGuard(rbac.index, authorizer),
  };
}
