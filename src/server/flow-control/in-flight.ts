/**
 * The limits `--max-requests-inflight` and `--max-mutating-requests-inflight`, for a server without API Priority and
 * Fairness: so many requests that read and so many that write run at once; one more is rejected. Watches and health checks take no seat.
 *
 * A seat is for work, not for waiting: it is taken when all of the request is there, and given back, exactly once, when
 * the answer is, or when the handler has come to its end. A client that sends or reads slowly holds none.
 */
import type { Attributes } from '../auth/authorizer.ts';
import { CpuAccount } from '../event-loop/run-queue.ts';
import { type RequestKind, requestKind } from '../request/request-kind.ts';
import type { SeatCounter } from '../workers/seat-table.ts';
import type { FlowGate, FlowTicket, GatedRequest, SeatObserver } from './flow-gate.ts';

export type InFlightLimits = {
  /** 0: no limit. */
  readonly maxReadOnly: number;
  readonly maxMutating: number;
};

/** Need no seat: who watches over us must not be rejected. */
export const HEALTH_PATH: RegExp = /^\/(healthz|livez|readyz)(\/|$)/;

export class InFlight implements FlowGate {
  readonly #limits: Record<RequestKind, number>;
  readonly #taken: Record<RequestKind, number> = { readOnly: 0, mutating: 0 };
  readonly #observe: SeatObserver | undefined;
  /** Where seats are counted that other threads have too. */
  readonly #shared: Record<RequestKind, SeatCounter | undefined>;
  /** Nobody is told from anybody else here. */
  readonly #account = new CpuAccount();

  constructor(
    { maxReadOnly, maxMutating }: InFlightLimits,
    observe?: SeatObserver,
    seatsOf: (kind: RequestKind) => SeatCounter | undefined = () => undefined,
  ) {
    this.#shared = { readOnly: seatsOf('readOnly'), mutating: seatsOf('mutating') };
    this.#limits = {
      readOnly: maxReadOnly || Number.POSITIVE_INFINITY,
      mutating: maxMutating || Number.POSITIVE_INFINITY,
    };
    this.#observe = observe;
  }

  ticketFor({ method, path }: GatedRequest, attributes: Attributes): FlowTicket | undefined {
    if (attributes.kind === 'resource' ? attributes.verb === 'watch' : HEALTH_PATH.test(path)) return undefined;
    return new Seat(this, requestKind(method), this.#account);
  }

  /** False: no seat left. */
  take(kind: RequestKind): boolean {
    const limit = this.#limits[kind];
    const shared = this.#shared[kind];
    if (shared ? !shared.take(1, (inUse) => inUse < limit) : this.#taken[kind] >= limit) return false;
    this.#taken[kind]++;
    this.#observe?.(kind, 1);
    return true;
  }

  giveBack(kind: RequestKind): void {
    this.#taken[kind]--;
    this.#shared[kind]?.giveBack(1);
    this.#observe?.(kind, -1);
  }
}

/** The seat of one request. */
class Seat implements FlowTicket {
  readonly uids = undefined;
  readonly account: CpuAccount;
  readonly retryAfterSeconds = 1;
  readonly #inFlight: InFlight;
  readonly #kind: RequestKind;
  #state: 'free' | 'taken' | 'given back' = 'free';

  constructor(inFlight: InFlight, kind: RequestKind, account: CpuAccount) {
    this.account = account;
    this.#inFlight = inFlight;
    this.#kind = kind;
  }

  enter(): boolean {
    if (this.#state !== 'free') return true;
    if (!this.#inFlight.take(this.#kind)) return false;
    this.#state = 'taken';
    return true;
  }

  giveUp(): void {}

  leave(): void {
    if (this.#state === 'taken') this.#inFlight.giveBack(this.#kind);
    this.#state = 'given back';
  }

  close(): void {}
}
