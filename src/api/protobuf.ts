/**
 * The wire format of protocol buffers, and nothing of any message: a Reader that walks fields and a Writer that
 * appends them. Messages are coded by hand on top of these two.
 *
 * Always true: a Reader never looks past the end it was given and copies no bytes, so what `bytes()` returns is a
 * window on the input. A 64-bit integer comes as a number (an error if it does not fit 2^53), as a bigint, or as whichever
 * holds it; the caller of a field says which. Writing is left to the caller's taste for zero fields: the Writer writes what it is told.
 *
 * It fails with a ProtobufError on input that is cut short, overlong or not protobuf at all.
 */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

export const wireType = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

const utf8Decoder = new TextDecoder();
const utf8Encoder = new TextEncoder();
/** Longer texts are left to the platform's encoder. */
const SHORT_TEXT = 64;
/** So many bytes of seven bits never exceed 2^53. */
const SAFE_VARINT_BYTES = 7;
const twoTo28 = 2 ** 28;
const twoTo64 = 2 ** 64;
const twoTo56 = 2 ** 56;

export class Reader {
  readonly buffer: Uint8Array;
  #position: number;
  #end: number;

  constructor(buffer: Uint8Array, start = 0, end: number = buffer.length) {
    this.buffer = buffer;
    this.#position = start;
    this.#end = Math.min(end, buffer.length);
  }

  /** Offset into `buffer` of the next byte to read. */
  get position(): number {
    return this.#position;
  }

  /** True while the message at hand has fields left. */
  get hasMore(): boolean {
    return this.#position < this.#end;
  }

  /** The next field's number and wire type, as `number * 8 + type`. */
  tag(): number {
    const tag = this.int();
    if (tag < 8 || tag > 0xffffffff)
      throw new ProtobufError(`Cannot read a field: ${tag} is no tag (offset ${this.#position})`);
    return tag;
  }

  /** A signed 64-bit integer (int32, int64, enum, and uint up to 2^53) as a number. */
  int(): number {
    const start = this.#position;
    let value = this.#byte();
    if (value < 0x80) return value;
    value &= 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    let middle = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      middle |= (byte & 0x7f) << shift;
      if (byte < 0x80) return checkSafe(value + middle * twoTo28, start);
    }
    let high = this.#byte();
    if (high >= 0x80) {
      const last = this.#byte();
      if (last > 1) throw new ProtobufError(`Cannot read a number: it has more than 64 bits (offset ${start})`);
      high = (high & 0x7f) | (last << 7);
    }
    if (high < 0x80) return checkSafe(value + middle * twoTo28 + high * twoTo56, start);
    const magnitude = (~value & 0xfffffff) + (~middle & 0xfffffff) * twoTo28 + (~high & 0xff) * twoTo56 + 1;
    return checkSafe(-magnitude, start);
  }

  /** A signed 64-bit integer, exactly: a number up to 2^53, a bigint beyond. */
  exactInt(): number | bigint {
    let last = this.#position;
    while (this.buffer[last]! >= 0x80) last++;
    if (last - this.#position < SAFE_VARINT_BYTES) return this.int();
    const exact = this.int64();
    const value = Number(exact);
    return Number.isSafeInteger(value) ? value : exact;
  }

  uint64(): bigint {
    const start = this.#position;
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if (value >> 64n !== 0n) break;
      return value;
    }
    throw new ProtobufError(`Cannot read a number: it has more than 64 bits (offset ${start})`);
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  bool(): boolean {
    return this.#byteOrMore() !== 0;
  }

  /** A window on the input, not a copy. */
  bytes(): Uint8Array {
    const length = this.span();
    return this.buffer.subarray(this.#position - length, this.#position);
  }

  string(): string {
    return utf8Decoder.decode(this.bytes());
  }

  /** Steps over a length-delimited field and answers its length: the field ends at `position`. */
  span(): number {
    const length = this.int();
    if (length < 0 || length > this.#end - this.#position)
      throw new ProtobufError(
        `Cannot read ${length} bytes at offset ${this.#position}: the message ends at ${this.#end}`,
      );
    this.#position += length;
    return length;
  }

  /** Narrows the reader to the embedded message at hand; give the answer back to `leave` once it has been read. */
  enter(): number {
    const outerEnd = this.#end;
    const length = this.span();
    this.#end = this.#position;
    this.#position -= length;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#position = this.#end;
    this.#end = outerEnd;
  }

  /** Steps over a field this side does not know. */
  skip(tag: number): void {
    switch (tag & 7) {
      case wireType.varint:
        this.#skipVarint();
        return;
      case wireType.fixed64:
        this.#advance(8);
        return;
      case wireType.lengthDelimited:
        this.span();
        return;
      case wireType.fixed32:
        this.#advance(4);
        return;
      default: // 3 and 4 are groups, long out of use
        throw new ProtobufError(`Cannot skip field ${tag >>> 3}: wire type ${tag & 7} (offset ${this.#position})`);
    }
  }

  #skipVarint(): void {
    const start = this.#position;
    for (let count = 0; count < 10; count++) if (this.#byte() < 0x80) return;
    throw new ProtobufError(`Cannot read a number: it has more than 64 bits (offset ${start})`);
  }

  #advance(count: number): void {
    if (count > this.#end - this.#position)
      throw new ProtobufError(`Cannot skip ${count} bytes at offset ${this.#position}: the message ends there`);
    this.#position += count;
  }

  #byteOrMore(): number {
    const byte = this.#byte();
    if (byte < 0x80) return byte;
    this.#position--;
    return this.uint64() === 0n ? 0 : 1;
  }

  #byte(): number {
    if (this.#position >= this.#end)
      throw new ProtobufError(`Cannot read past offset ${this.#end}: the message ends in the middle of a field`);
    return this.buffer[this.#position++]!;
  }
}

function checkSafe(value: number, offset: number): number {
  if (!Number.isSafeInteger(value))
    throw new ProtobufError(
      `Cannot read a number at offset ${offset}: ${value} does not fit 2^53, read it as a bigint`,
    );
  return value;
}

/** How many bytes `writeVarint` takes for a number. */
export function varintSize(value: number): number {
  if (value < 0) return 10;
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < twoTo28) return 4;
  let size = 5;
  for (let rest = Math.floor(value / (twoTo28 * 128)); rest > 0; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Writes a safe integer at `offset` of a target that has room; answers the offset after it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  if (value < 0) return writeVarint64(target, offset, BigInt(value));
  let at = offset;
  let rest = value;
  // Without an end for what has none; a text is compared as the number it looks like, so it is caught, too.
  if (rest >= twoTo64) throw new ProtobufError(`Cannot write ${value}: it does not fit 64 bits`);
  while (rest >= twoTo28) {
    target[at++] = (rest & 0x7f) | 0x80; // `&` takes the low 32 bits, also of a number above 2^32
    rest = Math.floor(rest / 128);
  }
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/** As `writeVarint`, for all 64 bits; a negative one takes ten bytes. */
export function writeVarint64(target: Uint8Array, offset: number, value: bigint): number {
  let at = offset;
  let rest = BigInt.asUintN(64, value);
  while (rest >= 0x80n) {
    target[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[at++] = Number(rest);
  return at;
}

export class Writer {
  #buffer: Uint8Array;
  #length = 0;

  constructor(initialBytes = 128) {
    this.#buffer = new Uint8Array(initialBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** What was written so far: a window on the writer's memory, valid until the next write. */
  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Begins anew in the same memory. */
  clear(): void {
    this.#length = 0;
  }

  int(field: number, value: number): this {
    this.#reserve(15);
    this.#length = writeVarint(this.#buffer, this.#length, field * 8);
    this.#length = writeVarint(this.#buffer, this.#length, value);
    return this;
  }

  int64(field: number, value: bigint): this {
    this.#reserve(15);
    this.#length = writeVarint(this.#buffer, this.#length, field * 8);
    this.#length = writeVarint64(this.#buffer, this.#length, value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  bytes(field: number, value: Uint8Array): this {
    this.#open(field, value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  /** A string whose characters stand for one byte each, U+0000 to U+00FF. */
  binary(field: number, value: string): this {
    this.#open(field, value.length);
    for (let i = 0; i < value.length; i++) this.#buffer[this.#length++] = value.charCodeAt(i);
    return this;
  }

  double(field: number, value: number): this {
    this.#reserve(15);
    this.#length = writeVarint(this.#buffer, this.#length, field * 8 + wireType.fixed64);
    new DataView(this.#buffer.buffer, this.#buffer.byteOffset).setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  string(field: number, value: string): this {
    if (value.length > SHORT_TEXT) return this.bytes(field, utf8Encoder.encode(value));
    const start = this.#length;
    this.#open(field, value.length);
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit >= 0x80) {
        this.#length = start; // more bytes than characters: written anew
        return this.bytes(field, utf8Encoder.encode(value));
      }
      this.#buffer[this.#length++] = unit;
    }
    return this;
  }

  /** An embedded message: what `write` writes. */
  message(field: number, write: (writer: this) => void): this {
    const start = this.begin(field);
    write(this);
    return this.end(start);
  }

  /** The same in two steps; give the answer back to `end` once the message has been written. */
  begin(field: number): number {
    this.#open(field, 0);
    return this.#length;
  }

  /** The length of a message is known only now, and most take one byte: for a longer one the message moves. */
  end(start: number): this {
    const size = this.#length - start;
    const extra = varintSize(size) - 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#buffer.copyWithin(start + extra, start, this.#length);
      this.#length += extra;
    }
    writeVarint(this.#buffer, start - 1, size);
    return this;
  }

  #open(field: number, size: number): void {
    this.#reserve(15 + size);
    this.#length = writeVarint(this.#buffer, this.#length, field * 8 + wireType.lengthDelimited);
    this.#length = writeVarint(this.#buffer, this.#length, size);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
