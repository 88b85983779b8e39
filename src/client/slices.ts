/**
 * Long work in slices: whoever walks over many objects asks between two of them whether its slice is over, and pauses.
 *
 * By time and not by number, for objects differ. Of all that pause, one goes on in each turn of the event loop, in the
 * order they came, so that no number of them makes a turn long; sockets and timers have theirs in between.
 */
const SLICE_MS = 5;

export class Slices {
  #until = performance.now() + SLICE_MS;

  /** To be asked before `pause` is awaited: to wait for nothing costs more than most objects do. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#until = performance.now() + SLICE_MS;
  }
}

/** The same for work that comes piece by piece, with waits in between that do not count. */
export class BusySlices {
  #busyMs = 0;
  #begunAt = 0;

  get isOver(): boolean {
    return this.#busyMs >= SLICE_MS;
  }

  /** A piece begins, and ends with `end`. */
  begin(): void {
    this.#begunAt = performance.now();
  }

  end(): void {
    this.#busyMs += performance.now() - this.#begunAt;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.#busyMs = 0;
  }
}

const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop, which nobody else who waits here has a part in. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(goOn);
}
