/** Long work in stretches: `if (turns.isOver) await turns.next();` lets others have their turn, often enough. */
import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 10;

export class TurnKeeper {
  #since = performance.now();

  /** Whether this turn has lasted long enough. */
  get isOver(): boolean {
    return performance.now() - this.#since >= TURN_MS;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }
}
