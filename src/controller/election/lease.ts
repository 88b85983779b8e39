/**
 * The Lease object that candidates share (coordination.k8s.io/v1), and what is written into it.
 *
 * Every write goes out with the resourceVersion it was based on, so the server refuses it if anybody wrote in between:
 * all safety rests on that. Times in the object are for people; nobody judges by another machine's clock. A new
 * term raises `leaseTransitions`, also when the holder stays the same, so that the number can serve as a fence.
 */
import type { ObjectMeta } from '../../api/index.ts';

export type LeaseSpec = {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number | null;
  acquireTime?: string | null;
  renewTime?: string | null;
  leaseTransitions?: number | null;
  strategy?: string | null;
  preferredHolder?: string | null;
};

export type Lease = {
  apiVersion: 'coordination.k8s.io/v1';
  kind: 'Lease';
  metadata: ObjectMeta;
  spec?: LeaseSpec;
};

/**
 * The few calls that an election needs. They answer with the stored object or throw an error whose `code` is the HTTP
 * status: 404 where there is no lease, 409 where another write came first. Anything else thrown means that nobody
 * knows what happened. Reads should not come from a cache: a stale one is safe, but slow.
 */
export interface LeaseClient {
  getLease(signal: AbortSignal): Promise<Lease>;
  createLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
  /** Refused with 409 unless the stored object still has this object's resourceVersion. */
  updateLease(lease: Lease, signal: AbortSignal): Promise<Lease>;
}

export type LeaseName = { readonly name: string; readonly namespace: string };

export function newLease({ name, namespace }: LeaseName, identity: string, durationMs: number, wallMs: number): Lease {
  const time = microTime(wallMs);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: wholeSeconds(durationMs),
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    },
  };
}

/** The start of a new term over what was there. */
export function claimedLease(lease: Lease, identity: string, durationMs: number, wallMs: number): Lease {
  const time = microTime(wallMs);
  return withSpec(lease, {
    holderIdentity: identity,
    leaseDurationSeconds: wholeSeconds(durationMs),
    acquireTime: time,
    renewTime: time,
    leaseTransitions: transitionsOf(lease) + 1,
  });
}

export function renewedLease(lease: Lease, durationMs: number, wallMs: number): Lease {
  return withSpec(lease, { leaseDurationSeconds: wholeSeconds(durationMs), renewTime: microTime(wallMs) });
}

/** Nobody holds it; the second is there because a lease of none is not valid. */
export function releasedLease(lease: Lease, wallMs: number): Lease {
  const time = microTime(wallMs);
  return withSpec(lease, { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time });
}

export function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? '';
}

export function transitionsOf(lease: Lease): number {
  return lease.spec?.leaseTransitions ?? 0;
}

/** The HTTP status that an error tells of, if it does. */
export function codeOf(err: unknown): number | undefined {
  const code = (err as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'number' ? code : undefined;
}

function withSpec(lease: Lease, spec: LeaseSpec): Lease {
  return { ...lease, spec: { ...lease.spec, ...spec } };
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** RFC 3339 with six digits, which is how the API writes a MicroTime. */
function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
