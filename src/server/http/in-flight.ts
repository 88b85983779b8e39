/**
 * Seats for requests: so many that read and so many that write may be under way at once; one more is sent away.
 * Watches and health checks take no seat. A seat is given back exactly once.
 */
export type RequestKind = 'readOnly' | 'mutating';

export type InFlightLimits = {
  /** 0: no limit. */
  readonly maxReadOnly: number;
  readonly maxMutating: number;
};

export class InFlight {
  readonly #limits: Record<RequestKind, number>;
  readonly #taken: Record<RequestKind, number> = { readOnly: 0, mutating: 0 };

  constructor({ maxReadOnly, maxMutating }: InFlightLimits) {
    this.#limits = {
      readOnly: maxReadOnly || Number.POSITIVE_INFINITY,
      mutating: maxMutating || Number.POSITIVE_INFINITY,
    };
  }

  count(kind: RequestKind): number {
    return this.#taken[kind];
  }

  /** False: no seat left. */
  take(kind: RequestKind): boolean {
    if (this.#taken[kind] >= this.#limits[kind]) return false;
    this.#taken[kind]++;
    return true;
  }

  giveBack(kind: RequestKind): void {
    this.#taken[kind]--;
  }
}

export function requestKind(method: string): RequestKind {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'readOnly' : 'mutating';
}
