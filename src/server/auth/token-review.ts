/** Whose token is this, and for whom: the question of a TokenReview, asked of the ways that know tokens. */
import type { UserInfo } from '../request/user-info.ts';
import type { Authenticator } from './authenticator.ts';

/** Undefined: nobody knows the token, or it is meant for others. `audiences`: empty asks for this server. */
export type ReviewToken = (
  token: string,
  audiences: readonly string[],
) => Promise<{ readonly user: UserInfo; readonly audiences: readonly string[] } | undefined>;

/** A token that says nothing about its audience is meant for this server, which is known by the names in `own`. */
export function tokenReviewer(authenticators: readonly Authenticator[], own: readonly string[]): ReviewToken {
  return async (token, audiences) => {
    const asked = audiences.length > 0 ? audiences : own;
    const credentials = { token, certificate: undefined, audiences: asked };
    for (const authenticator of authenticators) {
      const verdict = await authenticator.authenticate(credentials);
      if (verdict.kind !== 'known') continue;
      const shared = verdict.audiences ?? asked.filter((one) => own.includes(one));
      return shared.length > 0 ? { user: verdict.user, audiences: shared } : undefined;
    }
    return undefined;
  };
}
