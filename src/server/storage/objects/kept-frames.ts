/**
 * What was made of events to be sent, for whoever wants the same: of all events together the last that were made, within a
 * bound in bytes. A window of changes would else hold every change twice, once as an object and once as it was sent.
 *
 * It holds no event: one that has left its window takes its objects with it, and its frames when others come.
 */

/** Watches that catch up together want the same few hundred events at about the same time. */
const LIMIT_BYTES = 16 * 1024 * 1024;

export type Frames = Map<string, Buffer>;
type Kept = { readonly frames: Frames; readonly id: string; readonly bytes: number };

export class KeptFrames {
  readonly #limitBytes: number;
  #kept: (Kept | undefined)[] = [];
  #start = 0;
  #bytes = 0;

  constructor(limitBytes: number = LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  /** In `frames`, under its id, for a while. */
  keep(frames: Frames, id: string, frame: Buffer): void {
    frames.set(id, frame);
    this.#kept.push({ frames, id, bytes: frame.length });
    this.#bytes += frame.length;
    while (this.#bytes > this.#limitBytes) this.#drop();
  }

  #drop(): void {
    const { frames, id, bytes } = this.#kept[this.#start]!;
    frames.delete(id);
    this.#bytes -= bytes;
    this.#kept[this.#start++] = undefined;
    if (this.#start < 1024 || this.#start * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#start);
    this.#start = 0;
  }
}
