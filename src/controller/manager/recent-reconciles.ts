/**
 * The last reconciles that have ended, for whoever looks: why each ran, how long it took, how it ended.
 *
 * It holds `LIMIT` of them and texts of a bounded length, so that it costs the same however busy the controllers are.
 */
import type { WorkOutcome } from '../queue/worker-pool.ts';

const LIMIT = 300;
const MAX_TEXT = 500;

export type RecentReconcile = {
  readonly controller: string;
  readonly key: string;
  readonly result: WorkOutcome<string>['result'];
  readonly attempt: number;
  readonly durationMs: number;
  readonly causes: readonly string[];
  /** Milliseconds since 1970, when it ended. */
  readonly endedAt: number;
  readonly error?: string;
  readonly retryAfterMs?: number;
};

export class RecentReconciles {
  readonly #all: RecentReconcile[] = [];
  readonly #wallNow: () => number;
  #next = 0;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  note(controller: string, { error, ...outcome }: WorkOutcome<string>): void {
    this.#all[this.#next] = {
      controller,
      ...outcome,
      endedAt: this.#wallNow(),
      ...(error !== undefined && { error: errorText(error) }),
    };
    this.#next = (this.#next + 1) % LIMIT;
  }

  newestFirst(): RecentReconcile[] {
    return [...this.#all.slice(this.#next), ...this.#all.slice(0, this.#next)].reverse();
  }
}

/** Whatever was thrown, in a text that is not long. */
export function errorText(error: unknown): string {
  try {
    return (error instanceof Error ? error.message : String(error)).slice(0, MAX_TEXT);
  } catch {
    return 'an error without a text'; // not everything can be made one
  }
}
