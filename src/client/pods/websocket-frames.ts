/**
 * Frames of the WebSocket protocol (RFC 6455) as a client reads and writes them: bytes in, whole messages and control
 * frames out. No extensions. Pure; linear in its input however it is cut, in time and in what it keeps.
 *
 * Fails with ProtocolError: a frame that is masked, has a reserved bit or an unknown kind, a control frame that is long
 * or in parts, a message over `limitBytes`.
 */
import { randomBytes } from 'node:crypto';
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

export type Message = { readonly opcode: number; readonly data: Buffer };

type Head = { readonly isFinal: boolean; readonly opcode: number; readonly length: number };

const LIMIT_CONTROL = 125;
const LIMIT_HEAD = 10;

export class FrameReader {
  readonly #limitBytes: number;
  /** Of a frame whose head is not whole yet. */
  readonly #start = Buffer.alloc(LIMIT_HEAD);
  #startBytes = 0;
  #head: Head | undefined;
  /** Of a frame that is not whole yet. */
  readonly #data: GatheredBytes;
  /** Of a message that comes in parts. */
  readonly #parts: GatheredBytes;
  #partsOpcode: number | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#data = new GatheredBytes(Math.max(limitBytes, LIMIT_CONTROL));
    this.#parts = new GatheredBytes(limitBytes);
  }

  *take(chunk: Buffer): Generator<Message, void, void> {
    for (let at = 0; ; ) {
      if (!this.#head) {
        at = this.#readHead(chunk, at);
        if (!this.#head) return;
      }
      const { length, opcode, isFinal } = this.#head;
      const until = Math.min(chunk.length, at + length - this.#data.length);
      const bytes = chunk.subarray(at, until);
      at = until;
      const isWhole = bytes.length === length;
      if (!isWhole) this.#data.add(bytes);
      if (!isWhole && this.#data.length < length) return;
      this.#head = undefined;
      const message = this.#join(opcode, isFinal, isWhole ? bytes : bufferOf(this.#data.take()));
      if (message) yield message;
    }
  }

  /** Returns where in the chunk the data begin, or its end. */
  #readHead(chunk: Buffer, from: number): number {
    const had = this.#startBytes;
    const copied = chunk.copy(this.#start, had, from, from + LIMIT_HEAD - had);
    const bytes = had + copied;
    this.#startBytes = bytes;
    if (bytes < 2) return from + copied;
    const [first, second] = [this.#start[0]!, this.#start[1]!];
    const short = second & 0x7f;
    const more = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (bytes < 2 + more) return from + copied;
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    if ((first & 0x70) !== 0) throw new ProtocolError('a reserved bit is set');
    if ((second & 0x80) !== 0) throw new ProtocolError('a frame of a server is masked');
    const length =
      more === 2 ? this.#start.readUInt16BE(2) : more === 8 ? Number(this.#start.readBigUInt64BE(2)) : short;
    if (opcode >= OPCODE.close) {
      if (!isFinal || length > LIMIT_CONTROL) throw new ProtocolError('a control frame is long or in parts');
    } else if (length + this.#parts.length > this.#limitBytes)
      throw new ProtocolError(`a message has more than ${this.#limitBytes} bytes`);
    this.#head = { isFinal, opcode, length };
    this.#startBytes = 0;
    return from + 2 + more - had;
  }

  #join(opcode: number, isFinal: boolean, data: Buffer): Message | undefined {
    if (opcode === OPCODE.close || opcode === OPCODE.ping || opcode === OPCODE.pong) return { opcode, data };
    const isNew = opcode === OPCODE.text || opcode === OPCODE.binary;
    if (!isNew && opcode !== OPCODE.continuation) throw new ProtocolError(`a frame of an unknown kind (${opcode})`);
    if (isNew === (this.#partsOpcode !== undefined)) throw new ProtocolError('parts of messages are mixed up');
    if (isNew && isFinal) return { opcode, data };
    this.#partsOpcode ??= opcode;
    this.#parts.add(data);
    if (!isFinal) return undefined;
    const message = { opcode: this.#partsOpcode, data: bufferOf(this.#parts.take()) };
    this.#partsOpcode = undefined;
    return message;
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
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
