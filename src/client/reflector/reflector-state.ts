/**
 * Everything a reflector decides, as one pure function over one tagged union.
 *
 * What is always true: a version is given up only when the server has lost it (410, too large, a server that stands
 * behind it, or a kind that was away); every other end is taken up where it broke. Failures are states with a pause, not
 * exits: only a closed transport and a bug stop it. Pauses have full jitter and grow with the failures in a row; a
 * stream that lived `healthyMs` takes them back to the start.
 */
import { ConfigError, isApiError, isExpired, isTransportError } from '../errors.ts';
import { isClosed } from '../transport/transport.ts';
import { afterEnd, isShortAndEmpty } from '../watch/after-end.ts';

/** How the whole state is fetched: a watch that begins with it, or a list in pages. */
export type Filling = { readonly kind: 'filling'; readonly by: 'stream' | 'pages'; readonly failures: number };

export type Watching = {
  readonly kind: 'watching';
  /** Everything up to here has been told. */
  readonly version: string;
  readonly isOpen: boolean;
  /** Short empty streams in a row from this version. */
  readonly empty: number;
  readonly failures: number;
};

/** A stream was silent from beginning to end: is the server behind our version? It would be silent for ever. */
export type Checking = { readonly kind: 'checking'; readonly version: string; readonly failures: number };

export type Waiting = {
  readonly kind: 'waiting';
  readonly delayMs: number;
  /** Undefined after a clean end that came too soon. */
  readonly error: unknown;
  /** Waiting alone will not mend it: someone has to grant a right, or to install a kind. */
  readonly isRefusal: boolean;
  readonly next: Filling | Watching;
};

export type ReflectorState =
  | Filling
  | Watching
  | Checking
  | Waiting
  | { readonly kind: 'stopped'; readonly error: unknown };

export type Fact =
  | { readonly kind: 'opened' }
  | { readonly kind: 'filled'; readonly version: string }
  | { readonly kind: 'seen'; readonly version: string }
  /** A list or a stream, by an error or (undefined) cleanly. */
  | { readonly kind: 'ended'; readonly error: unknown; readonly livedMs: number; readonly events: number }
  | { readonly kind: 'checked'; readonly version: string }
  | { readonly kind: 'rested' };

export type Policy = {
  readonly minMs: number;
  readonly maxMs: number;
  readonly healthyMs: number;
  /** What this server is known to take. */
  readonly fillBy: Filling['by'];
  /** In [0, 1). */
  readonly random: number;
};

/** The stream was accepted, but the mark that ends its initial state did not come in time. */
export const NO_INITIAL_END = 'NO_INITIAL_END';

export function transition(state: ReflectorState, fact: Fact, policy: Policy): ReflectorState {
  switch (fact.kind) {
    case 'opened':
      return state.kind === 'watching' ? { ...state, isOpen: true } : state;
    case 'filled':
      return state.kind === 'filling' ? filled(state, fact.version) : state;
    case 'seen':
      return state.kind === 'watching' ? { ...state, version: fact.version, empty: 0 } : state;
    case 'checked':
      if (state.kind !== 'checking') return state;
      if (isBehind(fact.version, state.version))
        return { kind: 'filling', by: policy.fillBy, failures: state.failures };
      return pause(undefined, watchAgain(state.version, state.failures), 0, policy);
    case 'rested':
      return state.kind === 'waiting' ? state.next : state;
    case 'ended':
      if (state.kind === 'filling') return afterFilling(state, fact, policy);
      if (state.kind === 'watching') return afterWatching(state, fact, policy);
      if (state.kind === 'checking') return afterFailedCheck(state, fact.error, policy);
      return state;
  }
}

/** Both are versions of one server; what is no number is never behind. */
export function isBehind(version: string, than: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than);
}

/** The server does not know our version yet, or any more: it was set back. */
function isTooLarge(error: unknown): boolean {
  if (!isApiError(error)) return false;
  const causes = error.status.details?.causes ?? [];
  return (
    causes.some(({ reason }) => reason === 'ResourceVersionTooLarge') ||
    /too large resource version/i.test(error.message)
  );
}

type Ended = Extract<Fact, { kind: 'ended' }>;

function filled({ by, failures }: Filling, version: string): Watching {
  return { kind: 'watching', version, isOpen: by === 'stream', empty: 0, failures };
}

function watchAgain(version: string, failures: number, empty = 0): Watching {
  return { kind: 'watching', version, isOpen: false, empty, failures };
}

function afterFilling(state: Filling, { error }: Ended, policy: Policy): ReflectorState {
  if (mustStop(error)) return { kind: 'stopped', error };
  if (state.by === 'stream' && isStreamRefused(error)) return { ...state, by: 'pages' };
  const atLeastMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
  return pause(error, state, atLeastMs, policy);
}

function afterWatching(state: Watching, { error, livedMs, events }: Ended, policy: Policy): ReflectorState {
  const failures = livedMs >= policy.healthyMs ? 0 : state.failures;
  const again = watchAgain(state.version, failures);
  if (isTooLarge(error)) return fillAgain(error, failures, policy);
  if (isTransportError(error, 'idle') && events === 0) return { kind: 'checking', version: state.version, failures };
  const step = afterEnd({ error, livedMs, events, emptyBefore: state.empty });
  if (step.kind === 'again') {
    const empty = error === undefined && isShortAndEmpty(livedMs, events) ? state.empty + 1 : 0;
    return step.isFailure ? pause(error, { ...again, empty }, step.atLeastMs, policy) : again;
  }
  if (isExpired(step.error)) return fillAgain(step.error, failures, policy);
  if (isTransportError(error) && error.code === 'LINE_TOO_LONG')
    return pause(error, { kind: 'filling', by: 'pages', failures }, 0, policy); // a list may hold what an event may not
  if (mustStop(error)) return { kind: 'stopped', error };
  // A right that is missing changes no history. A kind that was away may have begun a new one.
  const isRight = isApiError(error) && (error.code === 401 || error.code === 403);
  return pause(error, isRight ? again : { kind: 'filling', by: policy.fillBy, failures }, 0, policy);
}

function afterFailedCheck({ version, failures }: Checking, error: unknown, policy: Policy): ReflectorState {
  if (mustStop(error)) return { kind: 'stopped', error };
  return pause(error, watchAgain(version, failures), 0, policy);
}

/** At once the first time; a server that loses every version it gives is not asked without a pause. */
function fillAgain(error: unknown, failures: number, policy: Policy): ReflectorState {
  const next: Filling = { kind: 'filling', by: policy.fillBy, failures };
  return failures === 0 ? { ...next, failures: 1 } : pause(error, next, 0, policy);
}

function pause(error: unknown, next: Filling | Watching, atLeastMs: number, policy: Policy): Waiting {
  const ceiling = Math.min(policy.minMs * 2 ** next.failures, policy.maxMs);
  const delayMs = Math.max(atLeastMs, policy.random * ceiling);
  return {
    kind: 'waiting',
    delayMs,
    error,
    isRefusal: isRefusal(error),
    next: { ...next, failures: next.failures + 1 },
  };
}

/** Older servers refuse the parameter; some take it and never send the mark. */
function isStreamRefused(error: unknown): boolean {
  if (isTransportError(error)) return error.code === NO_INITIAL_END || error.code === 'LINE_TOO_LONG';
  return isApiError(error) && [400, 405, 406, 422, 501].includes(error.code);
}

function isRefusal(error: unknown): boolean {
  if (error instanceof ConfigError) return true;
  if (!isApiError(error) || error.code === 410) return false;
  return error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
}

/** We were closed, or it is a bug: nothing that comes from the world. */
function mustStop(error: unknown): boolean {
  if (error === undefined || isApiError(error) || error instanceof ConfigError) return false;
  return !isTransportError(error) || isClosed(error);
}
