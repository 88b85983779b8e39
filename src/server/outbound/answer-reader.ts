/**
 * One HTTP/1.x answer read out of the bytes of a connection, as they come: a head, and a body by its length, in chunks, or up
 * to the end of the connection (RFC 9112). Answers on the way (1xx) are skipped.
 *
 * Always true: each byte is looked at once, however the bytes are split; head, chunk extensions and trailers together are
 * bounded, and so is the body. What could be understood in two ways, such as a
 * length told twice, is refused, with the words of Go where it has some; after any error the connection is of no more use.
 */
import { GatheredBytes } from '../../api/bytes/gathered-bytes.ts';
import { jsonText } from '../../api/json-text.ts';

/** That an answer is no HTTP, or none that can be told from others. */
class BadAnswerError extends Error {
  readonly code = 'BAD_ANSWER';
}

export class TooLongError extends Error {
  constructor(limitBytes: number) {
    super(`the answer is longer than ${limitBytes} bytes`);
  }
}

/** Of everything that is not the body. */
const LIMIT_HEAD_BYTES = 64 * 1024;
const LIMIT_HEAD_LINES = 1000;
const SHOWN_CHARS = 64;

const [LF, CR, SEMICOLON, SPACE, TAB] = [10, 13, 59, 32, 9];
const LONGEST_SIZE = 16;
const NO_LENGTH = -1;
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: |$)/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

type State =
  | 'status'
  | 'headers'
  | 'length'
  | 'close'
  | 'size'
  | 'extension'
  | 'size-end'
  | 'data'
  | 'data-end'
  | 'data-end-lf'
  | 'trailers'
  | 'done';

export class AnswerReader {
  code = 0;
  contentType = '';
  /** For how many seconds the other side says that it keeps the connection. */
  keptSeconds: number | undefined;
  readonly #limitBytes: number;
  readonly #body: GatheredBytes;
  #state: State = 'status';
  /** A line, or a chunk's size, as far as it has come. */
  #line = '';
  #headBytes = 0;
  #headLines = 0;
  #isOld = false;
  #saysClose = false;
  #saysKeep = false;
  #length = NO_LENGTH;
  #isChunked = false;
  /** Whether more of the last header may be ignored. */
  #canContinue = false;
  /** Of the body, or of the chunk. */
  #left = 0;
  #digits = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#body = new GatheredBytes(limitBytes);
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Whether another answer can follow on the same connection. */
  get isKept(): boolean {
    return !this.#saysClose && (!this.#isOld || (this.#saysKeep && !this.#isChunked));
  }

  /** Of an answer that is done: whoever takes it has it. */
  takeBody(): Buffer {
    const { buffer, byteOffset, byteLength } = this.#body.take();
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  /** How many of the bytes are of this answer; fewer than all only when it is done. */
  push(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') at = this.#read(bytes, at);
    return at;
  }

  /** The connection has ended: whether that ends the answer. */
  end(): boolean {
    if (this.#state === 'close') this.#state = 'done';
    return this.isDone;
  }

  #read(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'length':
      case 'data':
        return this.#readBody(bytes, at);
      case 'close':
        return this.#keep(bytes, at, bytes.length);
      case 'size':
        return this.#readSize(bytes, at);
      case 'extension':
        return this.#readExtension(bytes, at);
      case 'size-end':
        expectByte(bytes[at], LF);
        this.#beginChunk();
        return at + 1;
      case 'data-end':
        expectByte(bytes[at], CR);
        this.#state = 'data-end-lf';
        return at + 1;
      case 'data-end-lf':
        expectByte(bytes[at], LF);
        this.#beginSize();
        return at + 1;
      default:
        return this.#readLine(bytes, at);
    }
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LF, at);
    const next = end < 0 ? bytes.length : end + 1;
    this.#countHead(next - at);
    if (end < 0) {
      this.#line += bytes.toString('latin1', at, next);
      return next;
    }
    const ended = this.#line + bytes.toString('latin1', at, end);
    const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
    this.#line = '';
    if (++this.#headLines > LIMIT_HEAD_LINES) throw new BadAnswerError('the head of the answer has too many lines');
    if (this.#state === 'status') this.#readStatus(line);
    else if (line === '') this.#endHead();
    else if (this.#state === 'headers') this.#readHeader(line);
    return next;
  }

  #countHead(bytes: number): void {
    this.#headBytes += bytes;
    if (this.#headBytes > LIMIT_HEAD_BYTES)
      throw new BadAnswerError(`server response headers exceeded ${LIMIT_HEAD_BYTES} bytes; aborted`);
  }

  #readStatus(line: string): void {
    const found = STATUS_LINE.exec(line);
    if (!found) throw new BadAnswerError(`malformed HTTP response ${shown(line)}`);
    this.#isOld = found[1] === '0';
    this.code = Number(found[2]);
    this.#state = 'headers';
  }

  #readHeader(line: string): void {
    if (line.startsWith(' ') || line.startsWith('\t')) {
      if (!this.#canContinue) throw malformedHeader(line);
      return;
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    if (!HEADER_NAME.test(name)) throw malformedHeader(line);
    this.#canContinue = !this.#takeHeader(name.toLowerCase(), line.slice(colon + 1).trim());
  }

  /** Whether it is one that matters here. */
  #takeHeader(name: string, value: string): boolean {
    switch (name) {
      case 'content-type':
        this.contentType ||= value;
        return true;
      case 'content-length':
        if (this.#length !== NO_LENGTH) throw new BadAnswerError('the answer tells its Content-Length twice');
        if (!/^\d{1,15}$/.test(value)) throw new BadAnswerError(`bad Content-Length ${shown(value)}`);
        this.#length = Number(value);
        return true;
      case 'transfer-encoding':
        if (this.#isChunked) throw new BadAnswerError('too many transfer encodings');
        if (value.toLowerCase() !== 'chunked')
          throw new BadAnswerError(`unsupported transfer encoding: ${shown(value)}`);
        this.#isChunked = true;
        return true;
      case 'connection':
        for (const one of value.toLowerCase().split(',')) {
          const word = one.trim();
          if (word === 'close') this.#saysClose = true;
          if (word === 'keep-alive') this.#saysKeep = true;
        }
        return true;
      case 'keep-alive':
        this.keptSeconds = Number(/(?:^|[\s,;])timeout=(\d{1,9})(?!\d)/i.exec(value)?.[1] ?? Number.NaN);
        if (Number.isNaN(this.keptSeconds)) this.keptSeconds = undefined;
        return true;
      default:
        return false;
    }
  }

  #endHead(): void {
    if (this.#state === 'trailers') {
      this.#state = 'done';
      return;
    }
    const { code } = this;
    if (code >= 100 && code < 200 && code !== 101) this.#beginAgain();
    else this.#beginBody(code);
  }

  #beginBody(code: number): void {
    if (this.#isChunked && this.#length !== NO_LENGTH)
      throw new BadAnswerError('the answer has both a Content-Length and a Transfer-Encoding');
    // Nobody asked for another protocol: what would follow is none of ours.
    if (code === 101) this.#saysClose = true;
    if (code === 101 || code === 204 || code === 304) this.#state = 'done';
    else if (this.#isChunked) this.#beginSize();
    else if (this.#length === NO_LENGTH) {
      this.#saysClose = true;
      this.#state = 'close';
    } else {
      this.#left = this.#length;
      this.#expect(this.#length);
      this.#state = this.#length === 0 ? 'done' : 'length';
    }
  }

  /** After an answer on the way: nothing that it said counts, but how much it was. */
  #beginAgain(): void {
    this.#state = 'status';
    this.contentType = '';
    this.keptSeconds = undefined;
    this.#length = NO_LENGTH;
    this.#isChunked = false;
    this.#saysKeep = false;
    this.#canContinue = false;
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#keep(bytes, at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === 'data' ? 'data-end' : 'done';
    return end;
  }

  #keep(bytes: Buffer, at: number, end: number): number {
    if (!this.#body.add(bytes.subarray(at, end))) throw new TooLongError(this.#limitBytes);
    return end;
  }

  /** So many bytes are said to be in it. */
  #expect(bytes: number): void {
    if (bytes > this.#limitBytes) throw new TooLongError(this.#limitBytes);
  }

  #beginSize(): void {
    this.#left = 0;
    this.#digits = 0;
    this.#state = 'size';
  }

  #readSize(bytes: Buffer, at: number): number {
    const byte = bytes[at]!;
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#digits > LONGEST_SIZE) throw new BadAnswerError('http chunk length too large');
      this.#left = this.#left * 16 + digit;
    } else if (this.#digits > 0 && byte === CR) this.#state = 'size-end';
    else if (this.#digits > 0 && (byte === SEMICOLON || byte === SPACE || byte === TAB)) this.#state = 'extension';
    else throw new BadAnswerError('invalid byte in chunk length');
    return at + 1;
  }

  /** It is not looked at, and counts as head. */
  #readExtension(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(CR, at);
    const next = end < 0 ? bytes.length : end + 1;
    this.#countHead(next - at);
    if (end >= 0) this.#state = 'size-end';
    return next;
  }

  #beginChunk(): void {
    this.#expect(this.#body.length + this.#left);
    this.#state = this.#left > 0 ? 'data' : 'trailers';
  }
}

function expectByte(byte: number | undefined, wanted: number): void {
  if (byte !== wanted) throw new BadAnswerError('malformed chunked encoding');
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 0x20;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

function malformedHeader(line: string): BadAnswerError {
  return new BadAnswerError(`malformed MIME header line: ${shown(line)}`);
}

function shown(text: string): string {
  return jsonText(text.slice(0, SHOWN_CHARS));
}
