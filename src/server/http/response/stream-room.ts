/**
 * What all live streams together hold for readers that do not keep up. Each may hold a little; once all of them hold
 * much, those that fall behind from then on hold less and get the rest from history, so that ten thousand readers that
 * have stopped cost no more than some hundred of them do.
 */
import type { SharedBytes } from '../../workers/shared-bytes.ts';

export type StreamRoomLimits = {
  /** Above this a stream counts as slow. */
  readonly slowBytes: number;
  /** The same while room is short. */
  readonly tightSlowBytes: number;
  /** Of all slow streams; more than this is short. */
  readonly totalSlowBytes: number;
};

export class StreamRoom {
  readonly #limits: StreamRoomLimits;
  readonly #shared: SharedBytes | undefined;
  /** By this thread. */
  #heldBytes = 0;

  /** `shared`: where all threads count what they hold. */
  constructor(limits: StreamRoomLimits, shared?: SharedBytes) {
    this.#limits = limits;
    this.#shared = shared;
  }

  get isShort(): boolean {
    return (this.#shared?.bytes ?? this.#heldBytes) > this.#limits.totalSlowBytes;
  }

  /** How much one stream may hold without being slow. */
  get slowBytes(): number {
    return this.isShort ? this.#limits.tightSlowBytes : this.#limits.slowBytes;
  }

  /** A stream has become slow (more), or is so no longer (less). */
  change(bytes: number): void {
    this.#heldBytes += bytes;
    this.#shared?.setHeld(this.#heldBytes, () => true);
  }
}
