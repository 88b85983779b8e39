/**
 * Copies of the port's socket that a worker has at hand to listen on again after it let go of one (port-share.ts): Node
 * cannot stop listening on a socket without closing it.
 *
 * Always true: more are made when half of them are used, in the background, and not more often than once in a while, since each
 * time takes a process. One copy stays for this alone: nobody else can close it. Where making some
 * fails, it is tried again, and there may be none until then.
 */
import type { Clock } from '../../../api/clock.ts';
import { copySockets, type SocketHandle } from './bound-port.ts';
import type { CopySource } from './port-share.ts';

/** At hand; each time so many are made that there are as many again. */
const COPIES = 32;
const BETWEEN_MS = 1000;

export class SocketCopies implements CopySource {
  readonly #source: SocketHandle;
  readonly #free: SocketHandle[];
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #making: Promise<void> | undefined;

  /** The first to listen on, and further ones. */
  static async open(
    fd: number,
    clock: Clock,
  ): Promise<{ readonly first: SocketHandle; readonly copies: SocketCopies }> {
    const [first, source, ...free] = (await copySockets(fd, COPIES + 2)) as [SocketHandle, SocketHandle];
    return { first, copies: new SocketCopies(source, free, clock) };
  }

  private constructor(source: SocketHandle, free: SocketHandle[], clock: Clock) {
    this.#source = source;
    this.#free = free;
    this.#clock = clock;
  }

  get hasOne(): boolean {
    return this.#free.length > 0;
  }

  take(): SocketHandle {
    const copy = this.#free.pop()!;
    if (this.#free.length < COPIES / 2) this.#making ??= this.#makeMore();
    return copy;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#making;
    for (const copy of this.#free.splice(0)) copy.close();
    this.#source.close();
  }

  async #makeMore(): Promise<void> {
    const { signal } = this.#stop;
    do {
      const made = await copySockets(this.#source.fd, COPIES - this.#free.length, signal).catch(() => []);
      this.#free.push(...made);
      await this.#clock.sleep(BETWEEN_MS, signal).catch(() => {});
    } while (!signal.aborted && this.#free.length < COPIES / 2);
    this.#making = undefined;
  }
}
