/**
 * Grants and revokes leases, by request and when their time is up: the part of `state/leases.ts` that writes.
 *
 * Always true: whoever asks next sees a lease that was granted or revoked, and nobody is answered before it is on the disk.
 * The keys of a lease go with it in one revision. Whether the store is open is asked before anything here is; a full disk
 * puts off what expires, and nothing else.
 */
import { type Clock, untilAborted } from '../../api/index.ts';
import type { CallOptions, Lease, LeaseId, LeaseInfo } from '../kv.ts';
import { unlessFull } from './chores.ts';
import type { Quota } from './quota.ts';
import type { Head } from './state/head.ts';
import type { KeyIndex } from './state/key-index.ts';
import { type Leases, MIN_TTL_SECONDS } from './state/leases.ts';
import { moveKeysToLeases } from './state/recovery.ts';
import { tombstone } from './state/transaction.ts';
import type { WritePipeline } from './write-pipeline.ts';

const TICK_MS = 500;
const LONGEST_TICK_MS = MIN_TTL_SECONDS * 1000;
const EXPIRED_PER_TICK = 500;
const LEASE_BYTES = 64;

export type LessorParts = {
  readonly leases: Leases;
  readonly head: Head;
  readonly pipeline: WritePipeline;
  readonly quota: Quota;
};

export class Lessor {
  readonly #leases: Leases;
  readonly #head: Head;
  readonly #pipeline: WritePipeline;
  readonly #quota: Quota;

  constructor({ leases, head, pipeline, quota }: LessorParts) {
    this.#leases = leases;
    this.#head = head;
    this.#pipeline = pipeline;
    this.#quota = quota;
  }

  async grant(ttlSeconds: number, { id: asked, signal }: { id?: LeaseId } & CallOptions): Promise<Lease> {
    this.#pipeline.checkRoom();
    this.#quota.checkBytes(LEASE_BYTES);
    const ttl = this.#leases.ttlFor(ttlSeconds);
    const id = this.#leases.idFor(asked);
    this.#leases.add(id, ttl);
    await untilAborted(this.#pipeline.add({ lease: [id, ttl] }), signal);
    return { id, ttlSeconds: ttl };
  }

  keepAlive(id: LeaseId): number {
    return this.#leases.keepAlive(id);
  }

  async revoke(id: LeaseId): Promise<void> {
    const { keys } = this.#leases.mustHave(id);
    const changes = [...keys].sort().map((key, sub) => this.#head.change(key, tombstone(this.#head.revision + 1, sub)));
    if (changes.length > 0) this.#head.revision++;
    this.#leases.remove(id);
    await this.#pipeline.add({ changes, lease: [id, undefined] });
  }

  async info(id: LeaseId, { keys = true, signal }: { keys?: boolean } & CallOptions): Promise<LeaseInfo | undefined> {
    const lease = this.#leases.get(id);
    const info = lease && {
      id,
      grantedTtlSeconds: lease.ttlSeconds,
      remainingSeconds: this.#leases.remainingSeconds(lease),
      keys: keys ? [...lease.keys].sort() : [],
    };
    await untilAborted(this.#pipeline.settled() ?? Promise.resolve(), signal);
    return info;
  }

  async ids({ signal }: CallOptions): Promise<readonly LeaseId[]> {
    const ids = this.#leases.ids();
    await untilAborted(this.#pipeline.settled() ?? Promise.resolve(), signal);
    return ids;
  }

  /** A commit was refused, and with it all that was on its way: back to what is on the disk. */
  reset(durable: ReadonlyMap<LeaseId, number>, index: KeyIndex): void {
    if (this.#leases.size === 0 && durable.size === 0) return;
    this.#leases.reset(durable);
    moveKeysToLeases(this.#leases, index);
  }

  /** Revokes what expires, until the signal fires. */
  async run(clock: Clock, signal: AbortSignal): Promise<never> {
    for (;;) {
      await untilAborted(this.#leases.whenAny(), signal);
      // One that is granted meanwhile lives longer than the longest pause.
      const pauseMs = Math.min(Math.max(this.#leases.msToNextEnd(), TICK_MS), LONGEST_TICK_MS);
      await clock.sleep(pauseMs, signal);
      await Promise.all(this.#leases.expired(EXPIRED_PER_TICK).map((id) => this.revoke(id).catch(unlessFull)));
    }
  }
}
