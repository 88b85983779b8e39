/** Who counts how requests were let in. Called on the hot path: an observer does no more than add numbers, and never throws. */

/** `error`: what was shown is worth nothing; `failure`: nothing was shown where something must be. */
export type AuthenticationResult = 'success' | 'failure' | 'error';
/** `no-opinion`: no rule allows it. None forbids anything. */
export type AuthorizationResult = 'allowed' | 'no-opinion' | 'error';

export interface AccessObserver {
  authenticated(result: AuthenticationResult, seconds: number): void;
  authorized(result: AuthorizationResult, seconds: number): void;
}
