/** The model's watch: an unbounded queue, filled by the model as things happen, one batch per revision. */

import { type Bounds, boundsOf, isInBounds } from '../../../src/store/keys.ts';
import type { KeyRange, Revision, Watch, WatchBatch, WatchEvent } from '../../../src/store/kv.ts';

export type ModelWatchOptions = {
  readonly fromRevision: Revision;
  readonly prevKv: boolean;
  readonly signal: AbortSignal | undefined;
  readonly currentRevision: () => Revision;
  readonly compactRevision: () => Revision;
  readonly onEnd: (watch: ModelWatch) => void;
};

type Reader = { resolve: (result: IteratorResult<WatchBatch>) => void; reject: (err: unknown) => void };

export class ModelWatch implements Watch {
  readonly #bounds: Bounds;
  readonly #options: ModelWatchOptions;
  readonly #queue: WatchBatch[] = [];
  readonly #readers: Reader[] = [];
  #end: { error?: unknown } | undefined;

  constructor(range: KeyRange, options: ModelWatchOptions) {
    this.#bounds = boundsOf(range);
    this.#options = options;
    const { signal } = options;
    if (signal?.aborted) this.end(signal.reason);
    signal?.addEventListener('abort', () => this.end(signal.reason), { once: true });
  }

  /** The events of one revision; the watch picks its own. */
  offer(revision: Revision, events: readonly WatchEvent[]): void {
    if (revision < this.#options.fromRevision) return;
    const matching = events.filter(({ kv }) => isInBounds(kv.key, this.#bounds));
    if (matching.length > 0) this.#push({ revision, events: matching.map((event) => this.#shown(event)) });
  }

  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    this.#queue.length = 0;
    this.#options.onEnd(this);
    for (const reader of this.#readers.splice(0)) this.#answerEnd(reader);
  }

  async started(): Promise<Revision> {
    if (this.#end?.error) throw this.#end.error;
    return this.#options.fromRevision - 1;
  }

  requestProgress(): void {
    const revision = this.#options.currentRevision();
    if (revision >= this.#options.fromRevision - 1) this.#push({ revision, events: [] });
  }

  next(): Promise<IteratorResult<WatchBatch>> {
    return new Promise((resolve, reject) => {
      const batch = this.#queue.shift();
      if (batch) resolve({ done: false, value: batch });
      else if (this.#end) this.#answerEnd({ resolve, reject });
      else this.#readers.push({ resolve, reject });
    });
  }

  async return(): Promise<IteratorResult<WatchBatch>> {
    this.end();
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end();
  }

  [Symbol.asyncIterator](): Watch {
    return this;
  }

  #push(batch: WatchBatch): void {
    if (this.#end) return;
    const reader = this.#readers.shift();
    if (reader) reader.resolve({ done: false, value: batch });
    else this.#queue.push(batch);
  }

  /** An error is told once, as a generator would. */
  #answerEnd({ resolve, reject }: Reader): void {
    const error = this.#end?.error;
    this.#end = {};
    if (error === undefined) resolve({ done: true, value: undefined });
    else reject(error);
  }

  #shown(event: WatchEvent): WatchEvent {
    const isKnown = this.#options.prevKv && event.kv.modRevision > this.#options.compactRevision();
    return { ...event, prevKv: isKnown ? event.prevKv : undefined };
  }
}
