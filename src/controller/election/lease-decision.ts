/**
 * Who may claim a lease, and how long a leader may trust its own: pure functions over what was seen and when.
 *
 * A rival counts from when it *saw* the lease change, a leader from when it *asked* for its renewal. The first is later
 * than the server's write and the second earlier, and a lease outlasts the renew deadline. So a rival can only claim
 * after the leader has stepped down, as long as the rival's clock runs less than leaseDuration / renewDeadline times as
 * fast as the leader's (1.5 with the known timings). Where the clocks stand does not matter.
 */
import { holderOf, type Lease } from './lease.ts';

export type ElectionTimings = {
  /** How long others wait after the last renewal they saw. */
  readonly leaseDurationMs: number;
  /** How long a leader leads after the last renewal that it asked for and got. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  /** A candidate waits retryMs, and up to this many times as long besides. */
  readonly jitterFactor: number;
};

/** The numbers people know from the Go client. */
export const DEFAULT_TIMINGS: ElectionTimings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
  jitterFactor: 1.2,
};

/** What a candidate knows: the lease as last seen, and until when (own clock) its holder must be taken to lead. */
export type Observation = {
  readonly lease: Lease | undefined;
  readonly holder: string;
  readonly heldUntil: number;
};

export const NOTHING_SEEN: Observation = { lease: undefined, holder: '', heldUntil: -Infinity };

/** `now` is the time at which the answer came in. */
export function observe(
  before: Observation,
  lease: Lease | undefined,
  leaseDurationMs: number,
  now: number,
): Observation {
  // A lease that was deleted by hand: its holder may not have noticed yet, so its time still counts.
  if (!lease) return { ...before, lease: undefined };
  const seen = before.lease?.metadata;
  const isUnchanged = seen?.resourceVersion === lease.metadata.resourceVersion && seen?.uid === lease.metadata.uid;
  if (before.lease && isUnchanged) return before;
  const holder = holderOf(lease);
  const seconds = lease.spec?.leaseDurationSeconds;
  const durationMs = seconds ? seconds * 1000 : leaseDurationMs; // the holder's own promise comes first
  return { lease, holder, heldUntil: holder === '' ? -Infinity : now + durationMs };
}

export type Step =
  | { readonly kind: 'create' }
  | { readonly kind: 'claim'; readonly lease: Lease }
  | { readonly kind: 'wait'; readonly until: number };

/** What a candidate that does not lead does next. Its own lease it may claim at once: there it leads no longer. */
export function nextStep({ lease, holder, heldUntil }: Observation, identity: string, now: number): Step {
  if (holder !== '' && holder !== identity && now < heldUntil) return { kind: 'wait', until: heldUntil };
  return lease ? { kind: 'claim', lease } : { kind: 'create' };
}

/** Handed to the leader, to be sent along with what must not happen twice. A later term has the higher number. */
export type FencingToken = {
  /** leaseTransitions of this term. */
  readonly term: number;
  /** The lease as it was when the term began. */
  readonly resourceVersion: string;
};

/** The proof that a leader leads: good until a time by its own clock. */
export type Term = { readonly token: FencingToken; readonly askedAt: number; readonly wallAskedAt: number };

/**
 * The wall clock is looked at besides: the monotonic one stands still while the machine sleeps. A wall clock that is set
 * forward costs a term, which is the safe side.
 */
export function hasExpired(term: Term, renewDeadlineMs: number, now: number, wallNow: number): boolean {
  return now - term.askedAt >= renewDeadlineMs || wallNow - term.wallAskedAt >= renewDeadlineMs;
}

export function checkTimings({ leaseDurationMs, renewDeadlineMs, retryMs, jitterFactor }: ElectionTimings): void {
  const fail = (why: string): never => {
    throw new RangeError(`Cannot run an election: ${why}`);
  };
  if (!(retryMs > 0 && jitterFactor >= 0)) fail(`retryMs is ${retryMs}, jitterFactor ${jitterFactor}`);
  if (!(renewDeadlineMs > jitterFactor * retryMs)) fail('renewDeadlineMs is not above jitterFactor times retryMs');
  if (!(leaseDurationMs > renewDeadlineMs)) fail('leaseDurationMs is not above renewDeadlineMs');
}

/** How long a candidate waits before it looks again. */
export function candidateWaitMs(seen: Observation, timings: ElectionTimings, now: number, random: number): number {
  const waitMs = timings.retryMs * (1 + timings.jitterFactor * random);
  if (seen.heldUntil <= now) return waitMs;
  // Be there when the lease runs out, but not all candidates in the same instant.
  return Math.min(waitMs, seen.heldUntil - now + random * timings.retryMs * 0.1);
}
