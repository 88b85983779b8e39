/**
 * Authentication: finds out who sent a request. The authenticators (tokens, client certificates) are asked in turn; the
 * first that knows the caller decides.
 *
 * Always true: a credential that was shown and is not known means 401, never "anonymous" (a wrong password must not
 * quietly become a visitor), unless another credential of the same request is good. Whoever is known belongs to
 * `system:authenticated`.
 */
import type { UserInfo } from '../request/user-info.ts';

/** What a client certificate says, after TLS has verified it against our authorities. */
export type PeerCertificate = {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly expiresAtMs: number;
};

type Credentials = {
  /** What stands in an `Authorization: Bearer` header, see bearer-header.ts. */
  readonly token: string | undefined;
  /** `unverified`: one was shown, but nobody we trust vouches for it. */
  readonly certificate: PeerCertificate | 'unverified' | undefined;
  /** Whom a token must be meant for; this server, if nothing is said. */
  readonly audiences?: readonly string[];
};

export type Verdict =
  /** `audiences`: those asked for that the credential is meant for, if it says. */
  | { readonly kind: 'known'; readonly user: UserInfo; readonly audiences?: readonly string[] }
  /** Nothing in the request is meant for this authenticator. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'refused' };

export interface Authenticator {
  authenticate(credentials: Credentials): Verdict | Promise<Verdict>;
}

/** Undefined: 401. */
export type Authenticate = (credentials: Credentials) => UserInfo | undefined | Promise<UserInfo | undefined>;

const ANONYMOUS: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

const SILENT: Verdict = { kind: 'silent' };

export function authenticateBy(authenticators: readonly Authenticator[], allowAnonymous: boolean): Authenticate {
  const decide = (credentials: Credentials, from: number, wasRefused: boolean): ReturnType<Authenticate> => {
    let refused = wasRefused;
    for (let i = from; i < authenticators.length; i++) {
      const verdict = authenticators[i]!.authenticate(credentials);
      if (verdict instanceof Promise) {
        const before = refused;
        return verdict.then((late) =>
          late.kind === 'known' ? late.user : decide(credentials, i + 1, before || late.kind === 'refused'),
        );
      }
      if (verdict.kind === 'known') return verdict.user;
      refused ||= verdict.kind === 'refused';
    }
    return refused || !allowAnonymous ? undefined : ANONYMOUS;
  };
  return (credentials) => decide(credentials, 0, false);
}

/** CN is the user, each O a group. */
export function certificateAuthenticator(now: () => number = Date.now): Authenticator {
  const users = new WeakMap<PeerCertificate, Verdict>(); // one certificate object per connection
  return {
    authenticate({ certificate }) {
      if (certificate === undefined) return SILENT;
      if (certificate === 'unverified' || certificate.commonName === '' || certificate.expiresAtMs < now())
        return { kind: 'refused' };
      let verdict = users.get(certificate);
      if (!verdict) {
        const { commonName, organizations } = certificate;
        verdict = { kind: 'known', user: asAuthenticated({ username: commonName, groups: organizations }) };
        users.set(certificate, verdict);
      }
      return verdict;
    },
  };
}

/** The same user, in `system:authenticated` too, unless somebody says otherwise. */
export function asAuthenticated(user: UserInfo): UserInfo {
  const { groups } = user;
  if (groups.includes('system:authenticated') || groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, 'system:authenticated'] };
}
