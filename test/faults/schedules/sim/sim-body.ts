/** The body of a simulated answer, with as much of a stream's ways as the transport uses: it is read in pieces, once. */
export class SimBody implements AsyncIterable<Buffer> {
  readonly #pieces: Buffer[] = [];
  readonly #onLeave: () => void;
  #end: { readonly error?: unknown } | undefined;
  #wake: () => void = () => {};
  readableEnded = false;

  /** `onLeave`: the reader wants no more. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  on(): this {
    return this;
  }

  push(piece: Buffer): void {
    if (this.#end) return;
    this.#pieces.push(piece);
    this.#wake();
  }

  end(end: { readonly error?: unknown } = {}): void {
    this.#end ??= end;
    this.#wake();
  }

  destroy(): void {
    this.end({ error: new Error('the body is destroyed') });
    this.#onLeave();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) yield piece;
      else if (this.#end) break;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    if ('error' in this.#end) throw this.#end.error;
    this.readableEnded = true;
  }
}
