/**
 * Seats for requests: so many that read and so many that write may be at work at once; one more is sent away. Watches
 * and health checks take no seat.
 *
 * A seat is for work, not for waiting: it is taken when all of the request is there, and given back, exactly once, when
 * the answer is, or when the handler has come to its end. A client that sends or reads slowly holds none.
 */
export type RequestKind = 'readOnly' | 'mutating';

export type InFlightLimits = {
  /** 0: no limit. */
  readonly maxReadOnly: number;
  readonly maxMutating: number;
};

/** Told of every seat that is taken (1) and given back (-1). */
export type SeatObserver = (kind: RequestKind, change: 1 | -1) => void;

export class InFlight {
  readonly #limits: Record<RequestKind, number>;
  readonly #taken: Record<RequestKind, number> = { readOnly: 0, mutating: 0 };
  readonly #observe: SeatObserver | undefined;

  constructor({ maxReadOnly, maxMutating }: InFlightLimits, observe?: SeatObserver) {
    this.#limits = {
      readOnly: maxReadOnly || Number.POSITIVE_INFINITY,
      mutating: maxMutating || Number.POSITIVE_INFINITY,
    };
    this.#observe = observe;
  }

  /** False: no seat left. */
  take(kind: RequestKind): boolean {
    if (this.#taken[kind] >= this.#limits[kind]) return false;
    this.#taken[kind]++;
    this.#observe?.(kind, 1);
    return true;
  }

  giveBack(kind: RequestKind): void {
    this.#taken[kind]--;
    this.#observe?.(kind, -1);
  }
}

/** The seat of one request. */
export class Seat {
  readonly #inFlight: InFlight;
  readonly #kind: RequestKind;
  #state: 'free' | 'taken' | 'given back' = 'free';

  constructor(inFlight: InFlight, kind: RequestKind) {
    this.#inFlight = inFlight;
    this.#kind = kind;
  }

  /** False: none left. */
  take(): boolean {
    if (this.#state !== 'free') return true;
    if (!this.#inFlight.take(this.#kind)) return false;
    this.#state = 'taken';
    return true;
  }

  giveBack(): void {
    if (this.#state === 'taken') this.#inFlight.giveBack(this.#kind);
    this.#state = 'given back';
  }
}

export function requestKind(method: string): RequestKind {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'readOnly' : 'mutating';
}
