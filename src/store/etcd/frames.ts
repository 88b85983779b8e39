/**
 * gRPC's framing: each message behind one byte (0, not compressed) and its length in four.
 *
 * Always true: a message that arrived in one piece is a window on that piece, one that arrived in several is joined
 * once. What is held back is at most one unfinished message. A frame that is compressed, or longer than `limitBytes`,
 * is refused with an Error: we offer no compression, so such bytes are not gRPC.
 */
const prefixBytes = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}

export class Deframer {
  readonly #limitBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Bytes needed before anything can be taken out again; 0 if unknown. */
  #wantedBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** True if a message was begun and not ended. */
  get isInside(): boolean {
    return this.#heldBytes > 0;
  }

  /** Takes bytes in and hands on every message they complete. */
  push(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    let bytes = chunk;
    if (this.#heldBytes > 0) {
      this.#held.push(chunk);
      this.#heldBytes += chunk.length;
      if (this.#heldBytes < Math.max(prefixBytes, this.#wantedBytes)) return;
      bytes = Buffer.concat(this.#held, this.#heldBytes);
    }
    let offset = 0;
    let wanted = 0;
    while (bytes.length - offset >= prefixBytes) {
      if (bytes[offset] !== 0) throw new Error(`Cannot read a gRPC frame: its first byte is ${bytes[offset]}, not 0`);
      const length = bytes.readUInt32BE(offset + 1);
      if (length > this.#limitBytes)
        throw new Error(`Cannot read a gRPC message: its ${length} bytes are above the limit of ${this.#limitBytes}`);
      const end = offset + prefixBytes + length;
      if (end > bytes.length) {
        wanted = prefixBytes + length;
        break;
      }
      onMessage(bytes.subarray(offset + prefixBytes, end));
      offset = end;
    }
    const rest = offset === 0 ? bytes : bytes.subarray(offset);
    this.#held = rest.length > 0 ? [rest] : [];
    this.#heldBytes = rest.length;
    this.#wantedBytes = wanted;
  }
}
