/**
 * Changes of role for whoever listens: the role of the moment first, then each change.
 *
 * A listener's mailbox has one slot. One that is slow sees the newest role and may miss those between, which is why a
 * leading role carries its token: two terms can be told apart. Leaving the loop, by any door, unsubscribes.
 */
import type { FencingToken } from './lease-decision.ts';

export type Role =
  | { readonly kind: 'following'; readonly leader: string }
  | { readonly kind: 'leading'; readonly token: FencingToken };

type Listener = { slot: Role | undefined; wake: () => void };

export class RoleFeed {
  readonly #listeners = new Set<Listener>();
  #hasEnded = false;

  publish(role: Role): void {
    for (const listener of this.#listeners) {
      listener.slot = role;
      listener.wake();
    }
  }

  end(): void {
    this.#hasEnded = true;
    for (const { wake } of this.#listeners) wake();
  }

  async *listen(current: () => Role, signal: AbortSignal | undefined): AsyncGenerator<Role, void, void> {
    const listener: Listener = { slot: current(), wake: () => {} };
    const stop = () => listener.wake();
    signal?.addEventListener('abort', stop, { once: true });
    this.#listeners.add(listener);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const role = listener.slot;
        listener.slot = undefined;
        if (role) {
          yield role;
        } else {
          if (this.#hasEnded) return;
          await new Promise<void>((resolve) => {
            listener.wake = resolve;
          });
        }
      }
    } finally {
      this.#listeners.delete(listener);
      signal?.removeEventListener('abort', stop);
    }
  }
}
