/**
 * A clock that runs ahead: a client that has it waits a fraction of what it means to wait, with all its limits as they
 * are in earnest. It knows who still sleeps, so that a test can see what was left behind.
 */
import { type Clock, systemClock } from '../../src/api/index.ts';

export class HurriedClock implements Clock {
  readonly #speed: number;
  #sleeping = 0;

  constructor(speed: number) {
    this.#speed = speed;
  }

  get sleeping(): number {
    return this.#sleeping;
  }

  now(): number {
    return performance.now() * this.#speed;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.#sleeping++;
    try {
      await systemClock.sleep(ms / this.#speed, signal);
    } finally {
      this.#sleeping--;
    }
  }
}
