/**
 * A small file that someone else replaces from time to time: a token, a certificate, an authority.
 *
 * It is read again when what we have is older than `maxAgeMs`, or at once after `expire`. A later reading that fails
 * leaves the last good one in use: a file is often gone for a moment while it is replaced. The first must succeed.
 */
import { readFile } from 'node:fs/promises';
import { type Clock, systemClock } from '../../api/clock.ts';
import { ConfigError } from '../errors.ts';

/** Kubelet renews a token hours before it ends; certificates likewise. */
const MAX_AGE_MS = 10_000;

export type RotatingFileOptions = { readonly clock?: Clock | undefined; readonly maxAgeMs?: number | undefined };

export class RotatingFile {
  readonly path: string;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  #text: string | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<string> | undefined;

  /** `what` names it in messages, such as `users[0].user.tokenFile of "/home/me/.kube/config"`. */
  constructor(path: string, what: string, { clock = systemClock, maxAgeMs = MAX_AGE_MS }: RotatingFileOptions = {}) {
    this.path = path;
    this.#what = what;
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
  }

  async text(): Promise<string> {
    if (this.#text !== undefined && this.#clock.now() - this.#readAt < this.#maxAgeMs) return this.#text;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** The next `text` reads the file, however young the last reading is. */
  expire(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async #read(): Promise<string> {
    try {
      const text = await readFile(this.path, 'utf8');
      if (text.trim() === '') throw new Error('the file is empty');
      this.#text = text;
    } catch (cause) {
      if (this.#text === undefined)
        throw new ConfigError(`Cannot read "${this.path}" (${this.#what}): ${(cause as Error).message}`, { cause });
    }
    this.#readAt = this.#clock.now();
    return this.#text;
  }
}
