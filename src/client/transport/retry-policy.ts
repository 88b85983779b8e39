/**
 * Whether a request that failed is sent again, and when. Only where nothing was applied, or where applying twice is the
 * same as once:
 *
 * - 429 and 503 with Retry-After: the server says that it has done nothing. Any method.
 * - any other 5xx with Retry-After: something may have been done before it went wrong. Reads only.
 * - 429 and 503 without: whoever answered may stand between us and the server. Reads only.
 * - a connection that broke before the answer: often one that the server closed while it was idle. Reads only, once.
 *
 * Everything else is the caller's to decide.
 */
import { isApiError, isTransportError } from '../errors.ts';

export type Failure = {
  readonly method: string;
  readonly error: unknown;
  /** How often it was sent already: 1 and up. */
  readonly tries: number;
};

export type RetryLimits = {
  readonly maxTries: number;
  /** Where a server asks for more patience, the caller gets its refusal instead. */
  readonly maxWaitMs: number;
};

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/** Milliseconds to wait, or undefined for no. `random` is in [0, 1). */
export function retryDelay({ method, error, tries }: Failure, limits: RetryLimits, random: number): number | undefined {
  if (tries >= limits.maxTries) return undefined;
  const isRead = method === 'GET' || method === 'HEAD';
  if (isTransportError(error, 'headers')) return isRead && tries === 1 && !error.isTimeout ? 0 : undefined;
  if (!isApiError(error)) return undefined;
  const { code, retryAfterMs: asked } = error;
  const isUntouched = code === 429 || code === 503;
  if (!isUntouched && !(code >= 500 && isRead && asked)) return undefined;
  if (asked !== undefined) return asked > limits.maxWaitMs ? undefined : notBefore(asked, random);
  return isRead ? random * Math.min(FIRST_PAUSE_MS * 2 ** tries, MAX_PAUSE_MS) : undefined;
}

/** Never earlier than asked; up to a quarter later, so that those who were refused together do not come back together. */
export function notBefore(askedMs: number, random: number): number {
  return askedMs * (1 + random / 4);
}
