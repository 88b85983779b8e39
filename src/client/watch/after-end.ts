/**
 * What a watch that ended asks for, as one pure decision: go on at once, go on after a pause, or stop.
 *
 * Only history that is gone (410) and refusals that will not change by waiting stop it. A server that closes an empty
 * stream again and again, at once and from the same version, has lost that version and does not say so; there are front
 * ends that do this. It counts as expired.
 */
import { ApiError, isApiError, isTransportError } from '../errors.ts';
import { isClosed } from '../transport/transport.ts';

export type Ended = {
  /** Undefined if the server ended it cleanly. */
  readonly error: unknown;
  /** Since it was opened. */
  readonly livedMs: number;
  /** Bookmarks included. */
  readonly events: number;
  /** How many streams before this one, from the same version, were short and empty. */
  readonly emptyBefore: number;
};

export type Step =
  | { readonly kind: 'again'; readonly atLeastMs: 0; readonly isFailure: false }
  | { readonly kind: 'again'; readonly atLeastMs: number; readonly isFailure: true }
  | { readonly kind: 'stop'; readonly error: unknown };

const SHORT_MS = 1_000;
/** So many short empty streams in a row, and the version is given up. */
const MAX_EMPTY = 5;

export function afterEnd({ error, livedMs, events, emptyBefore }: Ended): Step {
  if (error === undefined) {
    if (!isShortAndEmpty(livedMs, events)) {
      if (livedMs >= SHORT_MS) return { kind: 'again', atLeastMs: 0, isFailure: false };
      return { kind: 'again', atLeastMs: 0, isFailure: true };
    }
    if (emptyBefore + 1 >= MAX_EMPTY) return { kind: 'stop', error: silentlyExpired() };
    return { kind: 'again', atLeastMs: 0, isFailure: true };
  }
  if (isTransportError(error)) {
    // The same event would be too long again.
    if (isClosed(error) || error.code === 'LINE_TOO_LONG') return { kind: 'stop', error };
    return { kind: 'again', atLeastMs: 0, isFailure: true };
  }
  if (isApiError(error) && (error.code >= 500 || error.code === 429 || error.code === 408))
    return { kind: 'again', atLeastMs: error.retryAfterMs ?? 0, isFailure: true };
  return { kind: 'stop', error };
}

export function isShortAndEmpty(livedMs: number, events: number): boolean {
  return livedMs < SHORT_MS && events === 0;
}

function silentlyExpired(): ApiError {
  const message = `the server ended ${MAX_EMPTY} watches from the same resource version at once and without a word`;
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
  return new ApiError({ ...status, message, reason: 'Expired', code: 410 }, 'watch');
}
