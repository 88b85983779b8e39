/**
 * Frames of the WebSocket protocol (RFC 6455) as a client reads and writes them: bytes in, whole messages and control
 * frames out. No extensions. Pure; linear in its input however it is cut.
 *
 * Fails with ProtocolError: a frame that is masked, has a reserved bit or an unknown kind, a control frame that is long
 * or in parts, a message over `limitBytes`.
 */
import { randomBytes } from 'node:crypto';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

export type Message = { readonly opcode: number; readonly data: Buffer };

type Head = { readonly isFinal: boolean; readonly opcode: number; readonly length: number };

const LIMIT_CONTROL = 125;

export class FrameReader {
  readonly #limitBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #head: Head | undefined;
  /** Of a message that comes in parts. */
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #partsOpcode: number | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  *take(chunk: Buffer): Generator<Message, void, void> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (;;) {
      this.#head ??= this.#readHead();
      if (!this.#head || this.#bytes < this.#head.length) return;
      const { length, opcode, isFinal } = this.#head;
      this.#head = undefined;
      const message = this.#join(opcode, isFinal, this.#cut(length));
      if (message) yield message;
    }
  }

  #readHead(): Head | undefined {
    if (this.#bytes < 2) return undefined;
    const start = this.#peek(Math.min(this.#bytes, 10));
    const [first, second] = [start[0]!, start[1]!];
    const short = second & 0x7f;
    const more = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (start.length < 2 + more) return undefined;
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    if ((first & 0x70) !== 0) throw new ProtocolError('a reserved bit is set');
    if ((second & 0x80) !== 0) throw new ProtocolError('a frame of a server is masked');
    const length = more === 2 ? start.readUInt16BE(2) : more === 8 ? Number(start.readBigUInt64BE(2)) : short;
    if (opcode >= OPCODE.close) {
      if (!isFinal || length > LIMIT_CONTROL) throw new ProtocolError('a control frame is long or in parts');
    } else if (length + this.#partsBytes > this.#limitBytes)
      throw new ProtocolError(`a message has more than ${this.#limitBytes} bytes`);
    this.#cut(2 + more);
    return { isFinal, opcode, length };
  }

  #join(opcode: number, isFinal: boolean, data: Buffer): Message | undefined {
    if (opcode === OPCODE.close || opcode === OPCODE.ping || opcode === OPCODE.pong) return { opcode, data };
    const isNew = opcode === OPCODE.text || opcode === OPCODE.binary;
    if (!isNew && opcode !== OPCODE.continuation) throw new ProtocolError(`a frame of an unknown kind (${opcode})`);
    if (isNew === (this.#partsOpcode !== undefined)) throw new ProtocolError('parts of messages are mixed up');
    if (isNew && isFinal) return { opcode, data };
    this.#partsOpcode ??= opcode;
    this.#parts.push(data);
    this.#partsBytes += data.length;
    if (!isFinal) return undefined;
    const message = { opcode: this.#partsOpcode, data: Buffer.concat(this.#parts) };
    this.#parts = [];
    this.#partsBytes = 0;
    this.#partsOpcode = undefined;
    return message;
  }

  #peek(bytes: number): Buffer {
    if (this.#chunks[0]!.length < bytes) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!.subarray(0, bytes);
  }

  #cut(bytes: number): Buffer {
    this.#bytes -= bytes;
    const taken: Buffer[] = [];
    let at = 0;
    for (let left = bytes; left > 0; ) {
      const chunk = this.#chunks[at]!;
      taken.push(chunk.subarray(0, left));
      if (chunk.length > left) {
        this.#chunks[at] = chunk.subarray(left);
        break;
      }
      left -= chunk.length;
      at++;
    }
    this.#chunks.splice(0, at);
    return taken.length === 1 ? taken[0]! : Buffer.concat(taken);
  }
}

/** One whole frame, masked as a client must. */
export function frame(opcode: number, data: Buffer): Buffer {
  const more = data.length > 0xffff ? 8 : data.length > LIMIT_CONTROL ? 2 : 0;
  const result = Buffer.allocUnsafe(2 + more + 4 + data.length);
  result[0] = 0x80 | opcode;
  result[1] = 0x80 | (more === 8 ? 127 : more === 2 ? 126 : data.length);
  if (more === 2) result.writeUInt16BE(data.length, 2);
  if (more === 8) result.writeBigUInt64BE(BigInt(data.length), 2);
  const mask = randomBytes(4);
  mask.copy(result, 2 + more);
  for (let at = 0, to = 6 + more; at < data.length; at++, to++) result[to] = data[at]! ^ mask[at & 3]!;
  return result;
}
