/** One end of what is said beside a shared store (see SideLine): on the store's port, in the order of its messages. */
import type { Beside, SideLine } from './shared-messages.ts';

export class PortSideLine implements SideLine {
  readonly #post: (beside: Beside) => void;
  #onMessage: ((message: unknown) => void) | undefined;
  #onEnd: (() => void) | undefined;
  #isOver = false;

  constructor(post: (beside: Beside) => void) {
    this.#post = post;
  }

  post(message: unknown): void {
    this.#post({ kind: 'beside', message });
  }

  listen(onMessage: (message: unknown) => void, onEnd: () => void): void {
    this.#onMessage = onMessage;
    this.#onEnd = onEnd;
    if (this.#isOver) onEnd();
  }

  /** To be called with every message of the port that is beside the store's. */
  hear({ message }: Beside): void {
    this.#onMessage?.(message);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd?.();
  }
}
