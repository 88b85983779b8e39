/**
 * One queue of a level: those who wait, in the order they came, and what those take who came out of it.
 *
 * Always true: the sums are those of the requests in it; `nextDispatchR`, the virtual time at which its next request
 * begins, is never before the arrival of the request that waits longest.
 */
import type { FlowRequest } from './flow-request.ts';

export class RequestQueue {
  readonly index: number;
  nextDispatchR = 0;
  length = 0;
  executing = 0;
  seatsInUse = 0;
  /** Of those who wait. */
  workSum = 0;
  seatsSum = 0;
  initialSeatsSum = 0;
  oldest: FlowRequest | undefined;
  #newest: FlowRequest | undefined;

  constructor(index: number) {
    this.index = index;
  }

  get isActive(): boolean {
    return this.length > 0 || this.executing > 0;
  }

  push(request: FlowRequest): void {
    request.before = this.#newest;
    request.behind = undefined;
    if (this.#newest) this.#newest.behind = request;
    else this.oldest = request;
    this.#newest = request;
    this.#count(request, 1);
  }

  remove(request: FlowRequest): void {
    if (request.before) request.before.behind = request.behind;
    else this.oldest = request.behind;
    if (request.behind) request.behind.before = request.before;
    else this.#newest = request.before;
    request.before = undefined;
    request.behind = undefined;
    this.#count(request, -1);
    if (this.length === 0) this.workSum = 0; // what adding fractions has lost
  }

  /** What was not there yet cannot have been served: nobody saves up time by staying away. */
  bound(): void {
    if (this.oldest && this.oldest.arrivalR > this.nextDispatchR) this.nextDispatchR = this.oldest.arrivalR;
  }

  *waiting(): Generator<FlowRequest, void, void> {
    for (let request = this.oldest; request; request = request.behind) yield request;
  }

  #count(request: FlowRequest, sign: 1 | -1): void {
    this.length += sign;
    this.workSum += sign * request.work;
    this.seatsSum += sign * request.width;
    this.initialSeatsSum += sign * request.initialSeats;
  }
}
