/**
 * A clock that stands still until the test turns it. `advance` fires what falls due in order of its time, and lets
 * everything that was woken run on before it goes further, so a minute passes in an instant and nothing is skipped.
 */
import type { Clock } from '../api/index.ts';

type Sleeper = { at: number; wake: () => void };

export class FakeClock implements Clock {
  #now = 0;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.#now;
  }

  /** How many sleeps are waiting; a test can wait for a loop to come to rest with it. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper: Sleeper = {
        at: this.#now + ms,
        wake: () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
      };
      const stop = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = [...this.#sleepers].sort((a, b) => a.at - b.at)[0];
      if (!next || next.at > end) break;
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers.delete(next);
      next.wake();
      await settle();
    }
    this.#now = end;
  }
}

/** Long enough for a chain of awaits to come to rest: a few turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
