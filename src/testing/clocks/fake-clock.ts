/**
 * A clock that stands still until the test turns it. `advance` fires what falls due in order of its time, and lets
 * everything that was woken run on before it goes further, so a minute passes in an instant and nothing is skipped.
 */
import type { Clock } from '../../api/index.ts';
import { Sleepers } from './sleepers.ts';

export class FakeClock implements Clock {
  #now = 0;
  readonly #sleepers = new Sleepers();

  now(): number {
    return this.#now;
  }

  /** How many sleeps are waiting; a test can wait for a loop to come to rest with it. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(this.#now + ms, signal);
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#sleepers.first; next && next.at <= end; next = this.#sleepers.first) {
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers.take()?.wake();
      await settle();
    }
    this.#now = end;
  }
}

/** Long enough for a chain of awaits to come to rest: a few turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
