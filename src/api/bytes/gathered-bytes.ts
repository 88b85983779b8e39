/**
 * Bytes that come piece by piece and are wanted whole, in one stretch that doubles: what is kept is at most twice what came,
 * into however many pieces somebody has cut it. A list of the pieces takes a hundred bytes and more for each, and
 * whoever sends decides how many there are.
 */
const LEAST_BYTES = 256;
const NOTHING = new Uint8Array(0);
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

export class GatheredBytes {
  readonly #limitBytes: number;
  #bytes: Uint8Array = NOTHING;
  #length = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** False: with these there would be more than the limit, and they are not kept. */
  add(piece: Uint8Array): boolean {
    const length = this.#length + piece.length;
    if (length > this.#limitBytes) return false;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.#limitBytes, Math.max(2 * this.#bytes.length, length, LEAST_BYTES)));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
    return true;
  }

  /** All of them, which are the caller's from then on; what is added next is the beginning of others. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = NOTHING;
    this.#length = 0;
    return taken;
  }

  /** The same as text in UTF-8. */
  takeText(): string {
    return utf8.decode(this.take());
  }
}
