/**
 * Keeps readers away from the engine while it is closed and opened again, which takes a few milliseconds: to give its pages
 * back to the system, and to be well again after a full disk.
 *
 * Always true: it is opened again only in its turn among the commits; whoever wants to read meanwhile waits for `pause`, which
 * never rejects. Whoever reads over several turns of the loop asks again in each.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEngine } from './engine.ts';

export class EngineGate {
  readonly #engine: LogEngine;
  /** While it is set, nothing may be read. */
  pause: Promise<void> | undefined;

  constructor(engine: LogEngine) {
    this.#engine = engine;
  }

  async reopen(): Promise<void> {
    let open = () => {};
    this.pause = new Promise((resolve) => {
      open = resolve;
    });
    const end = () => {
      this.pause = undefined;
      open();
    };
    try {
      await this.#engine.letGo?.();
      end();
    } catch (err) {
      // The store ends because of it, and is to have ended before anybody reads on.
      void nextTurn().then(end);
      throw err;
    }
  }
}
