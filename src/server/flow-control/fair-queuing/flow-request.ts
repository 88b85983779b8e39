/**
 * One request on its way through its level: what it is expected to take, where it waits, since when it runs.
 *
 *   new ─► waiting ─► executing ─► over          waiting ─► over: ejected
 *
 * Only its queue set moves it on, and never back.
 */
import type { Attributes } from '../../auth/authorizer.ts';
import type { ChurningMember } from '../../event-loop/churning-set.ts';
import type { UserInfo } from '../../request/user-info.ts';

/** What a request takes. */
export type WorkEstimate = {
  /** While it runs. */
  readonly initialSeats: number;
  /** For so many seconds after its answer, since its writer's event is still being told to watchers. */
  readonly finalSeats: number;
  readonly extraSeconds: number;
};

export const ONE_SEAT: WorkEstimate = { initialSeats: 1, finalSeats: 0, extraSeconds: 0 };

/** What a request is guessed to last before it has. */
export const GUESSED_SECONDS = 0.003;

/** Whose request it is and what it asks for: for those who look, not for who decides. */
export type RequestAbout = {
  readonly user: UserInfo;
  readonly attributes: Attributes;
  /** Of the URL. */
  readonly path: string;
};

export type FlowRequestState = 'new' | 'waiting' | 'executing' | 'over';

export class FlowRequest implements ChurningMember {
  slot = -1;
  readonly schemaName: string;
  readonly distinguisher: string;
  readonly initialSeats: number;
  finalSeats: number;
  extraSeconds: number;
  state: FlowRequestState = 'new';
  /** Seconds of the timer. */
  arrivedAt = 0;
  startedAt = 0;
  /** The virtual time at which it came. */
  arrivalR = 0;
  /** -1: no queue. */
  queueIndex = -1;
  /** Neighbours in its queue. */
  before: FlowRequest | undefined;
  behind: FlowRequest | undefined;
  /** Called when it may run after it had to wait. */
  readonly onStart: () => void;
  readonly about: RequestAbout | undefined;

  constructor(
    schemaName: string,
    distinguisher: string,
    estimate: WorkEstimate,
    onStart: () => void = () => {},
    about?: RequestAbout,
  ) {
    this.about = about;
    this.schemaName = schemaName;
    this.distinguisher = distinguisher;
    this.initialSeats = estimate.initialSeats;
    this.finalSeats = estimate.finalSeats;
    this.extraSeconds = estimate.extraSeconds;
    this.onStart = onStart;
  }

  /** Seats it holds from its start to its end. */
  get width(): number {
    return Math.max(this.initialSeats, this.finalSeats);
  }

  /** In seat-seconds. */
  get work(): number {
    return this.initialSeats * GUESSED_SECONDS + this.finalSeats * this.extraSeconds;
  }
}
