/**
 * Everything a reflector decides, as one pure function over one tagged union.
 *
 * What is always true: a version is given up only when the server has lost it (410, too large, a server that stands
 * behind it or has begun another history, or a kind that was away); every other end is taken up where it broke. A state
 * that is fetched anew is no older than what was delivered before (`minResourceVersion`), unless the server itself was
 * set back. Before a stream reaches its planned end its successor is opened beside it, so that there is no moment
 * without one. Failures are states with a pause, not exits: only a closed transport and a bug stop it. Pauses have full
 * jitter and grow with the failures in a row; a stream that lived `healthyMs`, or that has delivered something, takes
 * them back to the start.
 */
import { compareVersions, isBehind } from '../../api/index.ts';
import { ConfigError, isApiError, isExpired, isTransportError } from '../errors.ts';
import { notBefore } from '../transport/retry-policy.ts';
import { isClosed } from '../transport/transport.ts';
import { afterEnd, isShortAndEmpty } from '../watch/after-end.ts';
import { NO_NAME } from '../watch/watch-event.ts';

/** How the whole state is fetched: a watch that begins with it, or a list in pages. */
export type Listing = {
  readonly kind: 'listing';
  readonly by: 'stream' | 'pages';
  readonly failures: number;
  /** The state must not be older than this version: it was delivered before. `0` is any that the server has. */
  readonly minResourceVersion?: string;
  /** Streams in a row that were accepted, and broke before their state was complete. */
  readonly broken?: number;
};

export type Watching = {
  readonly kind: 'watching';
  /** Everything up to here has been delivered. */
  readonly version: string;
  readonly isOpen: boolean;
  /** The stream nears its planned end, and the one that takes its place is being opened. */
  readonly isRotating: boolean;
  /** Short empty streams in a row from this version. */
  readonly empty: number;
  readonly failures: number;
};

/**
 * A stream or a list was silent from beginning to end: is the server behind our version? It would be silent for ever.
 */
export type Checking = {
  readonly kind: 'checking';
  readonly version: string;
  readonly failures: number;
  /** What was to be fetched, and is tried again if the server is not behind. Undefined: it was a watch. */
  readonly listing?: Listing;
  /** What is wrong if it is not that. */
  readonly error?: unknown;
};

export type Waiting = {
  readonly kind: 'waiting';
  readonly delayMs: number;
  /** Undefined after a clean end that came too soon. */
  readonly error: unknown;
  /** Waiting alone will not mend it: someone has to grant a right, or to install a kind. */
  readonly isRefusal: boolean;
  readonly next: Listing | Watching;
};

export type ReflectorState =
  | Listing
  | Watching
  | Checking
  | Waiting
  | { readonly kind: 'stopped'; readonly error: unknown };

export type Fact =
  | { readonly kind: 'opened' }
  /** The stream will soon be ended by the server, as agreed. */
  | { readonly kind: 'near-timeout' }
  /** Its successor was accepted, and takes its place. */
  | { readonly kind: 'rotated' }
  /** Its successor was not: the stream goes on as long as it lasts. */
  | { readonly kind: 'rotation-failed' }
  | { readonly kind: 'listed'; readonly version: string }
  | { readonly kind: 'seen'; readonly version: string }
  /** A list or a stream, by an error or (undefined) cleanly. */
  | {
      readonly kind: 'ended';
      readonly error: unknown;
      readonly livedMs: number;
      readonly events: number;
      /** A stream that the server had accepted. */
      readonly wasOpen: boolean;
      /** A stream that began before our version, and had not come up to it. */
      readonly isCatchingUp: boolean;
      /** Nothing has come for so long, over however many streams, that it is called silence. */
      readonly isSilent: boolean;
    }
  | { readonly kind: 'checked'; readonly version: string }
  /** Somebody has found that what was delivered is not what the server has. */
  | { readonly kind: 'resync-required' }
  /** What was delivered agrees with what the server has, and did not come forward for long: a stream that is open may be dead. */
  | { readonly kind: 'late' }
  /** The server's versions are not those of the server we knew. */
  | { readonly kind: 'history-changed' }
  | { readonly kind: 'backoff-elapsed' };

export type Policy = {
  readonly minMs: number;
  readonly maxMs: number;
  readonly healthyMs: number;
  /** What this server is known to take. */
  readonly listBy: Listing['by'];
  /** In [0, 1). */
  readonly random: number;
};

/** The stream was accepted, but the mark that ends its initial state did not come in time. */
export const NO_INITIAL_END = 'NO_INITIAL_END';
/** The server gave a state that is older than the minimum that was asked for. */
export const STATE_TOO_OLD = 'STATE_TOO_OLD';

/** So many streams that break before their state is complete, and it is listed in pages. */
const MAX_BROKEN = 3;
/**
 * A server that gives a state older than the minimum may be a lagging one of several. So often in a row, and it was set
 * back.
 */
const MAX_TOO_OLD = 5;

export function transition(state: ReflectorState, fact: Fact, policy: Policy): ReflectorState {
  switch (fact.kind) {
    case 'opened':
      return state.kind === 'watching' ? { ...state, isOpen: true } : state;
    case 'near-timeout': // what two streams deliver twice can only be recognised by versions that can be compared
      return state.kind === 'watching' && isNumber(state.version) ? { ...state, isRotating: true } : state;
    case 'rotated':
      return state.kind === 'watching' ? { ...state, isOpen: true, isRotating: false } : state;
    case 'rotation-failed':
      return state.kind === 'watching' ? { ...state, isRotating: false } : state;
    case 'listed':
      return state.kind === 'listing' ? listed(state, fact.version) : state;
    case 'seen':
      return state.kind === 'watching' ? { ...state, version: fact.version, empty: 0 } : state;
    case 'checked':
      if (state.kind !== 'checking') return state;
      if (isBehind(fact.version, state.version))
        return { kind: 'listing', by: policy.listBy, failures: state.failures };
      return pause(state.error, afterCheck(state), 0, policy);
    case 'resync-required':
      if (state.kind === 'waiting' && state.next.kind === 'watching')
        return { ...state, next: fetchAnew(state.next, policy) };
      if (state.kind !== 'watching' && state.kind !== 'checking') return state; // it is being mended already
      return fetchAnew(state, policy);
    case 'late': // the next stream is on the way as it is, if this one has ended meanwhile
      return state.kind === 'watching' && state.isOpen ? fetchAnew(state, policy) : state;
    case 'history-changed': // what was delivered before is no minimum for it
      return state.kind === 'watching' ? { kind: 'listing', by: policy.listBy, failures: state.failures } : state;
    case 'backoff-elapsed':
      return state.kind === 'waiting' ? state.next : state;
    case 'ended':
      if (state.kind === 'listing') return afterListing(state, fact, policy);
      if (state.kind === 'watching') return afterWatching(state, fact, policy);
      if (state.kind === 'checking') return afterFailedCheck(state, fact.error, policy);
      return state;
  }
}

function isNumber(version: string): boolean {
  return compareVersions(version, '0') !== undefined;
}

/** The server does not know our version yet, or any more: it was set back. */
export function isTooLarge(error: unknown): boolean {
  if (!isApiError(error)) return false;
  const causes = error.status.details?.causes ?? [];
  return (
    causes.some(({ reason }) => reason === 'ResourceVersionTooLarge') ||
    /too large resource version/i.test(error.message)
  );
}

/** The server names its history, and ours is no part of it: the same version need not be the same object. */
function isOtherHistory(error: unknown): boolean {
  return isApiError(error) && (error.status.details?.causes ?? []).some(({ reason }) => reason === 'OtherHistory');
}

type Ended = Extract<Fact, { kind: 'ended' }>;

function listed({ by, failures }: Listing, version: string): Watching {
  return { kind: 'watching', version, isOpen: by === 'stream', isRotating: false, empty: 0, failures };
}

function fetchAnew({ version, failures }: Watching | Checking, { listBy }: Policy): Listing {
  return { kind: 'listing', by: listBy, failures, minResourceVersion: version };
}

function watchAgain(version: string, failures: number, empty = 0): Watching {
  return { kind: 'watching', version, isOpen: false, isRotating: false, empty, failures };
}

function afterListing(state: Listing, { error, wasOpen }: Ended, policy: Policy): ReflectorState {
  if (mustStop(error)) return { kind: 'stopped', error };
  const { kind, by, failures, minResourceVersion } = state;
  const again: Listing = { kind, by, failures, ...(minResourceVersion !== undefined && { minResourceVersion }) };
  if (minResourceVersion !== undefined && isTooLarge(error)) return { kind, by, failures }; // set back: there is no minimum any more
  if (isTransportError(error) && error.code === STATE_TOO_OLD)
    return pause(error, failures < MAX_TOO_OLD ? again : { kind, by, failures }, 0, policy);
  const broken = (state.broken ?? 0) + (by === 'stream' && wasOpen ? 1 : 0);
  if (by === 'stream' && (isStreamRefused(error) || broken >= MAX_BROKEN)) return { ...again, by: 'pages' };
  const next = broken > 0 ? { ...again, broken } : again;
  // Servers wait for a version that they have not reached, some for longer than somebody on the way has patience.
  if (minResourceVersion !== undefined && isSilence(error))
    return { kind: 'checking', version: minResourceVersion, failures, listing: next, error };
  const atLeastMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
  return pause(error, next, atLeastMs, policy);
}

function afterWatching(state: Watching, ended: Ended, policy: Policy): ReflectorState {
  const { error, livedMs, events, wasOpen, isCatchingUp, isSilent } = ended;
  // Its successor is on the way, and will tell what is wrong if something is.
  if (state.isRotating && !mustStop(error)) return { ...state, isOpen: false };
  const failures = livedMs >= policy.healthyMs ? 0 : state.failures;
  const minResourceVersion = state.version;
  // A stream that delivered is taken up soon, however short it was. One that delivers and then loses its history is not.
  const again = watchAgain(state.version, events > 0 ? 0 : failures);
  if (isTooLarge(error) || isOtherHistory(error)) return relist(error, failures, policy);
  if (isCatchingUp && isExpired(error)) return again; // the version it began at is lost, and that is not ours
  const isBroken = error === undefined || (isTransportError(error) && !isClosed(error));
  // Streams that are ended sooner than silence is noticed would hide it for ever.
  const isSilence = isSilent && isBroken && wasOpen && !isShortAndEmpty(livedMs, events);
  if (events === 0 && (isTransportError(error, 'idle') || isSilence))
    return { kind: 'checking', version: state.version, failures };
  // Whoever goes on from there gets the same again.
  if (isTransportError(error) && error.code === NO_NAME)
    return pause(error, { kind: 'listing', by: 'pages', failures, minResourceVersion }, 0, policy);
  const step = afterEnd({ error, livedMs, events, emptyBefore: state.empty });
  if (step.kind === 'again') {
    const empty = error === undefined && isShortAndEmpty(livedMs, events) ? state.empty + 1 : 0;
    return step.isFailure ? pause(error, { ...again, empty }, step.atLeastMs, policy) : again;
  }
  if (isExpired(step.error)) return relist(step.error, failures, policy, minResourceVersion);
  if (isTransportError(error) && error.code === 'LINE_TOO_LONG')
    return pause(error, { kind: 'listing', by: 'pages', failures, minResourceVersion }, 0, policy); // a list may hold what an event may not
  if (mustStop(error)) return { kind: 'stopped', error };
  // A right that is missing changes no history. A kind that was away may have begun a new one.
  const isRight = isApiError(error) && (error.code === 401 || error.code === 403);
  return pause(error, isRight ? again : { kind: 'listing', by: policy.listBy, failures }, 0, policy);
}

function afterCheck({ version, failures, listing }: Checking): Listing | Watching {
  return listing ?? watchAgain(version, failures);
}

function afterFailedCheck(state: Checking, error: unknown, policy: Policy): ReflectorState {
  if (mustStop(error)) return { kind: 'stopped', error };
  return pause(error, afterCheck(state), 0, policy);
}

/** There was a connection, and nothing came over it in time. */
function isSilence(error: unknown): boolean {
  return isTransportError(error) && error.isTimeout && error.phase !== 'connect';
}

/** At once the first time; a server that loses every version it gives is not asked without a pause. */
function relist(error: unknown, failures: number, policy: Policy, minResourceVersion?: string): ReflectorState {
  const next: Listing = {
    kind: 'listing',
    by: policy.listBy,
    failures,
    ...(minResourceVersion !== undefined && { minResourceVersion }),
  };
  return failures === 0 ? { ...next, failures: 1 } : pause(error, next, 0, policy);
}

function pause(error: unknown, next: Listing | Watching, atLeastMs: number, policy: Policy): Waiting {
  const ceiling = Math.min(policy.minMs * 2 ** next.failures, policy.maxMs);
  const delayMs = Math.max(notBefore(atLeastMs, policy.random), policy.random * ceiling);
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
  if (isTransportError(error)) return [NO_INITIAL_END, 'LINE_TOO_LONG', NO_NAME].includes(error.code ?? '');
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
