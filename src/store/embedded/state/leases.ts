/**
 * Leases: promises to keep some keys for a time. This room knows which leases there are, until when each one holds
 * and which keys go with it, as of the head; revoking them is the store's work, since it deletes keys.
 *
 * Always true: a key belongs to at most one lease, the one of its newest version. A lease never ends before its TTL
 * has passed since it was granted or last kept alive. What survives a restart is the TTL, which starts anew: a key
 * may live longer than asked, never shorter.
 */
import type { Clock } from '../../../api/index.ts';
import { StoreError } from '../../errors.ts';
import type { Key, LeaseId } from '../../kv.ts';

type Lease = { readonly ttlSeconds: number; endsAt: number; readonly keys: Set<Key> };

export const MIN_TTL_SECONDS = 2;
const MAX_TTL_SECONDS = 9_000_000_000;

export class Leases {
  readonly #clock: Clock;
  readonly #byId = new Map<LeaseId, Lease>();
  #waiting: Promise<void> | undefined;
  #someone: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Resolves while there is at least one. */
  whenAny(): Promise<void> {
    if (this.#byId.size > 0) return Promise.resolve();
    this.#waiting ??= new Promise((resolve) => {
      this.#someone = resolve;
    });
    return this.#waiting;
  }

  /** Zero or less if one has ended already. */
  msToNextEnd(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { endsAt } of this.#byId.values()) next = Math.min(next, endsAt);
    return next - this.#clock.now();
  }

  ids(): LeaseId[] {
    return [...this.#byId.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  get(id: LeaseId): Lease | undefined {
    return this.#byId.get(id);
  }

  mustHave(id: LeaseId): Lease {
    const lease = this.#byId.get(id);
    if (!lease) throw new StoreError('LeaseNotFound', `Cannot use lease ${id}: there is no such lease`);
    return lease;
  }

  /** The TTL that a lease gets when this much is asked for. */
  ttlFor(askedSeconds: number): number {
    if (!Number.isSafeInteger(askedSeconds) || askedSeconds > MAX_TTL_SECONDS)
      throw new StoreError(
        'InvalidArgument',
        `Cannot grant a lease for ${askedSeconds} seconds: it takes a whole number up to ${MAX_TTL_SECONDS}`,
      );
    return Math.max(askedSeconds, MIN_TTL_SECONDS);
  }

  /** The id asked for, if it is free, or a random one that is. */
  idFor(asked: LeaseId | undefined): LeaseId {
    if (asked !== undefined && asked !== 0n) {
      if (asked < 0n || asked >= 1n << 63n)
        throw new StoreError('InvalidArgument', `Cannot grant lease ${asked}: an id has 63 bits and is not negative`);
      if (this.#byId.has(asked)) throw new StoreError('LeaseExists', `Cannot grant lease ${asked}: it exists already`);
      return asked;
    }
    for (;;) {
      const words = crypto.getRandomValues(new Uint32Array(2));
      const id = ((BigInt(words[0]!) << 32n) | BigInt(words[1]!)) & ((1n << 63n) - 1n);
      if (id !== 0n && !this.#byId.has(id)) return id;
    }
  }

  add(id: LeaseId, ttlSeconds: number): void {
    this.#someone();
    this.#waiting = undefined;
    this.#byId.set(id, { ttlSeconds, endsAt: this.#clock.now() + ttlSeconds * 1000, keys: new Set() });
  }

  /** Just these, without keys; those that are known keep their end, others have their whole time before them. */
  reset(leases: ReadonlyMap<LeaseId, number>): void {
    const known = new Map(this.#byId);
    this.#byId.clear();
    for (const [id, ttl] of leases) {
      this.add(id, ttl);
      const before = known.get(id);
      if (before) this.#byId.get(id)!.endsAt = before.endsAt;
    }
  }

  keepAlive(id: LeaseId): number {
    const lease = this.#byId.get(id);
    if (!lease) return 0;
    lease.endsAt = this.#clock.now() + lease.ttlSeconds * 1000;
    return lease.ttlSeconds;
  }

  remove(id: LeaseId): void {
    this.#byId.delete(id);
  }

  /** The key's newest version has another lease now; 0n is none. */
  move(key: Key, from: LeaseId, to: LeaseId): void {
    if (from === to) return;
    if (from !== 0n) this.#byId.get(from)?.keys.delete(key);
    if (to !== 0n) this.#byId.get(to)?.keys.add(key);
  }

  remainingSeconds(lease: Lease): number {
    return Math.max(0, Math.floor((lease.endsAt - this.#clock.now()) / 1000));
  }

  /** Those whose time is over, the longest overdue first, at most `limit`. */
  expired(limit: number): LeaseId[] {
    const now = this.#clock.now();
    const over: [LeaseId, number][] = [];
    for (const [id, { endsAt }] of this.#byId) if (endsAt <= now) over.push([id, endsAt]);
    over.sort((a, b) => a[1] - b[1]);
    return over.slice(0, limit).map(([id]) => id);
  }
}
