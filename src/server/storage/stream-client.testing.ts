/** The client's end of a watch, for tests: it takes as much as it is told to, and shows what has come. */
import { expect } from 'vitest';
import type { ByteStream } from '../request/request-context.ts';
import type { StreamEnd } from '../request/stream-end.ts';

/** As the front's: a client for which more than this waits is cut off. */
const CUT_OFF_BYTES = 16 * 1024 * 1024;

/** A client that takes what it is given, or takes nothing until it is told to. */
export class StreamClient implements ByteStream {
  text = '';
  ends = 0;
  isCutOff = false;
  largestWrite = 0;
  /** Bytes it takes before it is slow. */
  room = Number.POSITIVE_INFINITY;
  onWrite: () => void = () => {};
  #waiting = 0;
  #drain: (() => void) | undefined;
  why: StreamEnd | undefined;
  readonly #closeListeners: ((why: StreamEnd) => void)[] = [];

  write(bytes: Buffer): boolean {
    if (this.ends > 0 || this.isCutOff) return true;
    this.text += bytes.toString();
    this.largestWrite = Math.max(this.largestWrite, bytes.length);
    this.#waiting += bytes.length;
    if (this.#waiting > CUT_OFF_BYTES) {
      this.isCutOff = true;
      queueMicrotask(() => this.leave('too-slow'));
    }
    this.onWrite();
    return this.#waiting <= this.room;
  }

  readonly stretchBytes = 256 * 1024;

  writeLong(bytes: number, fill: (target: Buffer, at: number) => void): boolean {
    const margin = 7; // whoever fills it must keep to its place
    const target = Buffer.alloc(bytes + 2 * margin);
    fill(target, margin);
    expect(target.subarray(0, margin).equals(Buffer.alloc(margin))).toBe(true);
    expect(target.subarray(margin + bytes).equals(Buffer.alloc(margin))).toBe(true);
    return this.write(target.subarray(margin, margin + bytes));
  }

  get bufferedBytes(): number {
    return this.#waiting;
  }

  get takenBytes(): number {
    return Buffer.byteLength(this.text);
  }

  /** Takes all that waits, and is told of more. */
  take(room = this.room): void {
    this.#waiting = 0;
    this.room = room;
    this.#drain?.();
  }

  /** In every turn, as a good connection does. */
  takeAlways(): () => void {
    const timer = setInterval(() => this.take(Number.POSITIVE_INFINITY), 0);
    return () => clearInterval(timer);
  }

  onDrain(listener: (() => void) | undefined): void {
    this.#drain = listener;
  }

  onClose(listener: (why: StreamEnd) => void): void {
    if (this.ends > 0) listener(this.why ?? 'client-left');
    else this.#closeListeners.push(listener);
  }

  end(why: StreamEnd): void {
    this.ends++;
    this.leave(why);
  }

  leave(why: StreamEnd = 'client-left'): void {
    this.why ??= why;
    for (const listener of this.#closeListeners.splice(0)) listener(why);
  }

  /** `ADDED ns/a@5`, one for each event. */
  get events(): string[] {
    return this.text
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: Shown };
        const { namespace, name, resourceVersion, annotations } = object.metadata;
        if (type === 'ERROR') return `ERROR ${object.message}`;
        if (type === 'BOOKMARK') return `BOOKMARK @${resourceVersion}${annotations ? ' end' : ''}`;
        return `${type} ${namespace}/${name}@${resourceVersion}`;
      });
  }
}

type Shown = {
  message?: string;
  metadata: { namespace?: string; name?: string; resourceVersion?: string; annotations?: object };
};
