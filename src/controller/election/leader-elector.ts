/**
 * Leader election over one Lease: of all candidates, at most one leads.
 *
 * One loop reads, claims and renews; `lease-decision` says what may be done. A term is good for `renewDeadlineMs` after
 * the renewal that was last asked for, and nothing brings it back afterwards: the clock is looked at before and after
 * every wait, before anything else is done with the answer, so a loop that was blocked too long reports the loss first.
 * Code of the leader that runs even earlier than that asks `check()`, which looks at the clock itself.
 *
 * What goes wrong with the server is reported to `onError` and tried again. `stop` ends the term, waits for what runs
 * in `runWhenLeading`, and then gives the lease away, so that another can take over at once; if that work does not end
 * within the term, the lease is left to run out instead. `unseenMs` and `blockedMs` tell what does not move: a lease
 * nobody can reach, work of an ended term that keeps it from campaigning. Whoever deletes the lease by hand, or gives
 * two candidates one identity, gives up the promise. A process paused between `check()` and its write can still come
 * too late: what must not happen twice needs the token.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, closeOnce, systemClock, tellSafely, untilAborted, wallNow } from '../../api/index.ts';
import { type LeaderFunction, LeaderWork } from './leader-work.ts';
import {
  claimedLease,
  codeOf,
  holderOf,
  type Lease,
  type LeaseClient,
  type LeaseName,
  newLease,
  releasedLease,
  renewedLease,
  transitionsOf,
} from './lease.ts';
import {
  candidateWaitMs,
  checkTimings,
  DEFAULT_TIMINGS,
  type ElectionTimings,
  hasExpired,
  NOTHING_SEEN,
  nextStep,
  type Observation,
  observe,
  type Term,
} from './lease-decision.ts';
import { type Role, RoleFeed } from './role-feed.ts';

type SomeTimings = { readonly [K in keyof ElectionTimings]?: ElectionTimings[K] | undefined };

export type LeaderElectorOptions = SomeTimings & {
  readonly leases: LeaseClient;
  readonly lease: LeaseName;
  /** Must be this process's alone; host name and a random part if not set. */
  readonly identity?: string | undefined;
  /** For one call of the client; half the renew deadline if not set. */
  readonly requestTimeoutMs?: number | undefined;
  /** Whether `stop` gives the lease away; it does if not set. */
  readonly releasesOnStop?: boolean | undefined;
  readonly onError?: ((err: unknown) => void) | undefined;
  /** It has ended by a bug, such as of a `random` or `wallNow` that throws, and campaigns no more. */
  readonly onFailure?: ((err: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Milliseconds since 1970. */
  readonly wallNow?: (() => number) | undefined;
  /** From 0 to 1. */
  readonly random?: (() => number) | undefined;
};

export class LeaderElector implements AsyncDisposable {
  readonly identity: string;
  readonly #options: LeaderElectorOptions;
  readonly #timings: ElectionTimings;
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  readonly #random: () => number;
  readonly #feed = new RoleFeed();
  readonly #work = new LeaderWork();
  readonly #stopping = new AbortController();
  readonly #loop: Promise<void>;
  #seen: Observation = NOTHING_SEEN;
  #term: Term | undefined;
  #hasWritten = false;
  #mayRelease = true;
  #seenAt: number;
  #endedAt = Number.NEGATIVE_INFINITY;
  #lastError: unknown;
  #poked = false;
  #wake: (() => void) | undefined;

  /** Starts at once. */
  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#timings = timingsOf(options);
    checkTimings(this.#timings);
    this.identity = options.identity ?? `${hostname()}_${randomUUID()}`;
    this.#clock = options.clock ?? systemClock;
    this.#wallNow = options.wallNow ?? wallNow;
    this.#random = options.random ?? Math.random;
    this.#seenAt = this.#clock.now();
    this.#loop = this.#run();
    this.#loop.catch((err: unknown) => this.#guard(() => options.onFailure?.(err))); // and thrown by `stop`
  }

  /** Of the lease. */
  get name(): string {
    return this.#options.lease.name;
  }

  get role(): Role {
    this.#expire();
    if (this.#term) return { kind: 'leading', token: this.#term.token };
    return { kind: 'following', leader: this.#seen.holder === this.identity ? '' : this.#seen.holder };
  }

  /** How long ago the lease was last seen or written. */
  get unseenMs(): number {
    return this.#clock.now() - this.#seenAt;
  }

  /** What went wrong since that. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** How long it has not campaigned because work of its last term has not ended; 0 if that is not so. */
  get blockedMs(): number {
    return this.#term || this.#work.isIdle ? 0 : this.#clock.now() - this.#endedAt;
  }

  /** Something of an ended term still runs, though nobody waits for it: `stop` leaves the lease to run out. */
  leaveToRunOut(): void {
    this.#mayRelease = false;
  }

  isLeading(): boolean {
    return this.role.kind === 'leading';
  }

  /** The role now and each change, until `stop`. */
  roles(signal?: AbortSignal): AsyncIterable<Role> {
    return this.#feed.listen(() => this.role, signal);
  }

  /** Runs the function once in each term; its signal fires when the term ends. The next waits until it has ended. */
  runWhenLeading(work: LeaderFunction, signal?: AbortSignal): Promise<void> {
    this.#expire();
    return this.#work.run(work, signal);
  }

  /** The lease has changed, says a watch: look now instead of at the next round. A leader hears only its own echo. */
  poke(): void {
    if (this.#term) return;
    this.#poked = true;
    this.#wake?.();
  }

  readonly stop: () => Promise<void> = closeOnce(async () => {
    this.#stopping.abort(new Error('Cannot go on with the election: it was stopped'));
    await this.#loop;
  });

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  metrics(): { readonly leader_election_master_status: 0 | 1 } {
    return { leader_election_master_status: this.isLeading() ? 1 : 0 };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted) {
        await this.#round();
        await this.#pause();
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      await this.#leave();
    }
  }

  async #round(): Promise<void> {
    this.#expire();
    try {
      if (this.#term) await this.#renew(this.#term);
      else if (this.#work.isIdle) await this.#campaign();
    } catch (err) {
      this.#stopping.signal.throwIfAborted();
      this.#expire();
      this.#report(err);
    }
    this.#expire();
  }

  async #campaign(): Promise<void> {
    this.#see(await this.#read());
    const step = nextStep(this.#seen, this.identity, this.#clock.now());
    if (step.kind === 'wait') return;
    const { leases, lease: name } = this.#options;
    const { leaseDurationMs } = this.#timings;
    const [askedAt, wallAskedAt] = [this.#clock.now(), this.#wallNow()];
    const wanted =
      step.kind === 'create'
        ? newLease(name, this.identity, leaseDurationMs, wallAskedAt)
        : claimedLease(step.lease, this.identity, leaseDurationMs, wallAskedAt);
    this.#hasWritten = true;
    const lease = await this.#ask((signal) =>
      step.kind === 'create' ? leases.createLease(wanted, signal) : leases.updateLease(wanted, signal),
    ).catch(ignoreConflict);
    if (!lease) return; // another was faster
    this.#see(lease);
    const token = { term: transitionsOf(lease), resourceVersion: lease.metadata.resourceVersion ?? '' };
    this.#begin({ token, askedAt, wallAskedAt });
  }

  async #renew(term: Term): Promise<void> {
    const base = this.#seen.lease!;
    const [askedAt, wallAskedAt] = [this.#clock.now(), this.#wallNow()];
    const wanted = renewedLease(base, this.#timings.leaseDurationMs, wallAskedAt);
    try {
      const lease = await this.#ask((signal) => this.#options.leases.updateLease(wanted, signal));
      this.#expire();
      this.#see(lease);
      if (this.#term === term) this.#term = { ...term, askedAt, wallAskedAt };
    } catch (err) {
      this.#expire();
      const code = codeOf(err);
      if (code !== 404 && code !== 409) throw err;
      // A renewal whose answer was lost also looks like this, so see who holds it before giving up.
      this.#see(code === 404 ? undefined : await this.#read());
      this.#expire();
      const { lease } = this.#seen;
      const isMine = lease && holderOf(lease) === this.identity && transitionsOf(lease) === term.token.term;
      if (!isMine) this.#endTerm();
      else if (this.#term === term && lease.metadata.resourceVersion !== base.metadata.resourceVersion)
        await this.#renew(term);
    }
  }

  async #pause(): Promise<void> {
    const now = this.#clock.now();
    const waitMs = this.#term
      ? Math.min(this.#timings.retryMs, this.#term.askedAt + this.#timings.renewDeadlineMs - now)
      : candidateWaitMs(this.#seen, this.#timings, now, this.#random());
    if (this.#poked) {
      this.#poked = false;
      return;
    }
    const poked = new AbortController();
    const stop = () => poked.abort();
    this.#wake = stop;
    this.#stopping.signal.addEventListener('abort', stop, { once: true });
    await this.#clock.sleep(wholeMs(waitMs), poked.signal).catch(() => {});
    this.#stopping.signal.removeEventListener('abort', stop);
    this.#wake = undefined;
    this.#poked = false;
    this.#expire();
  }

  async #read(): Promise<Lease | undefined> {
    return await this.#ask((signal) => this.#options.leases.getLease(signal)).catch((err: unknown) => {
      if (codeOf(err) === 404) return undefined;
      throw err;
    });
  }

  /** No call outlives its time, nor, while leading, the term. */
  async #ask<T>(send: (signal: AbortSignal) => Promise<T>, stopping: AbortSignal = this.#stopping.signal): Promise<T> {
    stopping.throwIfAborted();
    const { requestTimeoutMs = this.#timings.renewDeadlineMs / 2 } = this.#options;
    const term = this.#term;
    const leftMs = term ? term.askedAt + this.#timings.renewDeadlineMs - this.#clock.now() : Infinity;
    const limitMs = wholeMs(Math.min(requestTimeoutMs, leftMs));
    const call = new AbortController();
    const stop = () => call.abort(stopping.reason);
    stopping.addEventListener('abort', stop, { once: true });
    void this.#clock.sleep(limitMs, call.signal).then(
      () => call.abort(new Error(`Cannot reach the lease: no answer within ${limitMs} ms`)),
      () => {},
    );
    try {
      return await untilAborted(send(call.signal), call.signal);
    } finally {
      stopping.removeEventListener('abort', stop);
      call.abort();
    }
  }

  #see(lease: Lease | undefined): void {
    if (lease) {
      this.#seenAt = this.#clock.now();
      this.#lastError = undefined;
    }
    const before = this.#seen.holder;
    this.#seen = observe(this.#seen, lease, this.#timings.leaseDurationMs, this.#clock.now());
    if (!this.#term && this.#seen.holder !== before && this.#seen.holder !== this.identity)
      this.#feed.publish(this.role);
  }

  #begin(term: Term): void {
    if (this.#hasExpired(term)) return; // the answer took too long: ours, but no term
    this.#term = term;
    this.#feed.publish(this.role);
    this.#work.begin(term.token, () => this.isLeading() && this.#term?.token === term.token);
  }

  #hasExpired(term: Term): boolean {
    return hasExpired(term, this.#timings.renewDeadlineMs, this.#clock.now(), this.#wallNow());
  }

  #expire(): void {
    if (this.#term && this.#hasExpired(this.#term)) this.#endTerm();
  }

  #endTerm(): void {
    if (!this.#term) return;
    this.#term = undefined;
    this.#endedAt = this.#clock.now();
    this.#work.end();
    this.#feed.publish(this.role);
  }

  async #leave(): Promise<void> {
    const term = this.#term;
    this.#endTerm();
    this.#work.close();
    this.#feed.end();
    const leftMs = term ? term.askedAt + this.#timings.renewDeadlineMs - this.#clock.now() : 0;
    if (!this.#work.isIdle) await this.#waitForWork(Math.max(0, leftMs));
    const releases = this.#options.releasesOnStop ?? true;
    if (releases && this.#mayRelease && this.#hasWritten && this.#work.isIdle)
      await this.#release().catch((err: unknown) => this.#report(err));
  }

  /** A callback for errors may not end the election by another. */
  #report(err: unknown): void {
    this.#lastError = err;
    this.#guard(() => this.#options.onError?.(err));
  }

  #guard(tell: () => unknown): void {
    tellSafely(tell, (another) =>
      process.emitWarning(another instanceof Error ? another : String(another), { type: 'ElectionWarning' }),
    );
  }

  async #waitForWork(ms: number): Promise<void> {
    const waited = new AbortController();
    const late = this.#clock.sleep(ms, waited.signal).catch(() => {});
    await Promise.race([this.#work.untilIdle(), late]);
    waited.abort();
  }

  /** Reads first: a claim that was cut short by `stop` may have got through. */
  async #release(): Promise<void> {
    const { leases } = this.#options;
    const never = new AbortController().signal;
    for (let attempt = 0; attempt < 3; attempt++) {
      const lease = await this.#ask((signal) => leases.getLease(signal), never).catch(ignoreConflict);
      if (!lease || holderOf(lease) !== this.identity) return; // deleted, or another's already
      const wanted = releasedLease(lease, this.#wallNow());
      const released = await this.#ask((signal) => leases.updateLease(wanted, signal), never).catch(ignoreConflict);
      if (released) return;
    }
  }
}

/** Undefined where the server said that another write came first, or that there is no lease. */
function ignoreConflict(err: unknown): undefined {
  const code = codeOf(err);
  if (code !== 404 && code !== 409) throw err;
}

/** At least one: a rest below what a timer can tell would be waited for again and again without time going on. */
function wholeMs(ms: number): number {
  return Math.max(1, Math.ceil(ms));
}

function timingsOf(options: SomeTimings): ElectionTimings {
  const { leaseDurationMs, renewDeadlineMs, retryMs, jitterFactor } = DEFAULT_TIMINGS;
  return {
    leaseDurationMs: options.leaseDurationMs ?? leaseDurationMs,
    renewDeadlineMs: options.renewDeadlineMs ?? renewDeadlineMs,
    retryMs: options.retryMs ?? retryMs,
    jitterFactor: options.jitterFactor ?? jitterFactor,
  };
}
