/**
 * gRPC's framing: each message behind one byte (0, not compressed) and its length in four.
 *
 * Always true: a message that arrived in one piece is a window on that piece; one that arrived in several is gathered in
 * memory that doubles as it fills, so what it costs is at most twice what has come of it, whatever length it announces
 * and however small its pieces are. What is held back is at most one unfinished message.
 *
 * A frame that is compressed, or longer than `limitBytes`, is refused with a FrameError: we offer no compression.
 */
const prefixBytes = 5;

export class FrameError extends Error {
  override readonly name = 'FrameError';
  /** The first byte, where that is what is wrong. */
  readonly format: number | undefined;
  /** The announced length, where that is above the limit. */
  readonly length: number | undefined;
  constructor(message: string, { format, length }: { format?: number; length?: number }) {
    super(message);
    this.format = format;
    this.length = length;
  }
}

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  writePrefix(framed, message.length);
  framed.set(message, prefixBytes);
  return framed;
}

/** What stands before a message of this length that is sent in parts. */
export function framePrefix(length: number): Buffer {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  writePrefix(prefix, length);
  return prefix;
}

function writePrefix(target: Buffer, length: number): void {
  target[0] = 0;
  target.writeUInt32BE(length, 1);
}

const nothing = Buffer.alloc(0);

export class Deframer {
  readonly #limitBytes: number;
  /** What has come of an unfinished frame lies at its start. */
  #held: Buffer = nothing;
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** True if a message was begun and not ended. */
  get isInside(): boolean {
    return this.#heldBytes > 0;
  }

  /** The memory that an unfinished message takes. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** Takes bytes in and hands on every message they complete. */
  push(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    let at = 0;
    while (this.#heldBytes > 0 && at < chunk.length) {
      const wanted = this.#heldBytes < prefixBytes ? prefixBytes : prefixBytes + this.#lengthAt(this.#held, 0);
      if (this.#heldBytes < wanted) at = this.#gather(chunk, at, wanted);
      if (this.#heldBytes < prefixBytes || this.#heldBytes < prefixBytes + this.#lengthAt(this.#held, 0)) continue;
      const message = this.#held.subarray(prefixBytes, this.#heldBytes);
      this.#held = nothing;
      this.#heldBytes = 0;
      onMessage(message);
    }
    while (chunk.length - at >= prefixBytes) {
      const end = at + prefixBytes + this.#lengthAt(chunk, at);
      if (end > chunk.length) break;
      onMessage(chunk.subarray(at + prefixBytes, end));
      at = end;
    }
    if (at < chunk.length) this.#gather(chunk, at, chunk.length - at);
  }

  /** Puts bytes from `at` on behind what is held, until there are `wanted`; answers where the rest begins. */
  #gather(chunk: Buffer, at: number, wanted: number): number {
    const end = Math.min(chunk.length, at + wanted - this.#heldBytes);
    const filled = this.#heldBytes + end - at;
    if (filled > this.#held.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(filled, Math.min(2 * this.#held.length, wanted), 64));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    chunk.copy(this.#held, this.#heldBytes, at, end);
    this.#heldBytes = filled;
    return end;
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const format = bytes[at]!;
    if (format !== 0) throw new FrameError(`Cannot read a gRPC frame: its first byte is ${format}, not 0`, { format });
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#limitBytes)
      throw new FrameError(
        `Cannot read a gRPC message: its ${length} bytes are above the limit of ${this.#limitBytes}`,
        { length },
      );
    return length;
  }
}
