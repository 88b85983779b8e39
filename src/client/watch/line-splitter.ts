/**
 * Bytes to lines: a stream in chunks of any size, cut at newlines. Cutting happens on bytes, so a character that is split
 * between two chunks stays whole; a line that lies within one chunk is never copied.
 *
 * Bounded: a line longer than `maxLineBytes` throws. What is left after the last newline is `rest`.
 */
import { isAscii } from 'node:buffer';
import { TransportError } from '../errors.ts';
import type { TextEncoding } from '../lazy/json-text.ts';

const NEWLINE = 10;
const SPACE = 32;

export class LineSplitter {
  readonly #maxLineBytes: number;
  /** Of a line whose end has not come. */
  #started: Buffer[] = [];
  #startedBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** How many bytes of an unfinished line are held. */
  get rest(): number {
    return this.#startedBytes;
  }

  /** Tells the lines that end in this chunk, to be read at once; empty ones are left out. */
  take(chunk: Buffer, tell: (line: Buffer, encoding: TextEncoding) => void): void {
    let from = 0;
    const encoding = isAscii(chunk) ? 'latin1' : 'utf8';
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#bound(this.#startedBytes + end - from);
      const rest = chunk.subarray(from, end);
      from = end + 1;
      if (this.#startedBytes > 0) this.#tellJoined(rest, tell);
      else if (!isBlank(rest)) tell(rest, encoding);
    }
    if (from === chunk.length) return;
    this.#startedBytes += chunk.length - from;
    this.#bound(this.#startedBytes);
    this.#started.push(chunk.subarray(from));
  }

  #tellJoined(end: Buffer, tell: (line: Buffer, encoding: TextEncoding) => void): void {
    const line = Buffer.concat([...this.#started, end]);
    this.#started = [];
    this.#startedBytes = 0;
    if (!isBlank(line)) tell(line, isAscii(line) ? 'latin1' : 'utf8');
  }

  #bound(bytes: number): void {
    if (bytes <= this.#maxLineBytes) return;
    throw new TransportError('body', `Cannot read the stream: a line has more than ${this.#maxLineBytes} bytes`, {
      code: 'LINE_TOO_LONG',
    });
  }
}

function isBlank(line: Buffer): boolean {
  return !(line[0]! > SPACE) && line.every((byte) => byte <= SPACE);
}
