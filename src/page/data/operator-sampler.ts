/** Looks at an operator's inside once a second: the present, and series of the last ten minutes. */
import { greatestOf } from '../../api/extremes.ts';
import { readJson } from './reading.ts';
import { Series } from './series.ts';

const PERIOD_MS = 1000;

export type OperatorState = {
  readonly isLive: boolean;
  readonly isReady: boolean;
  readonly problems: readonly string[];
  readonly leader?: {
    readonly name: string;
    readonly identity: string;
    readonly isLeading: boolean;
    readonly leader: string;
    readonly term?: number;
    readonly error?: string;
  };
  readonly informers: readonly InformerState[];
  readonly controllers: readonly ControllerState[];
  readonly reconciles: readonly Reconcile[];
};

export type InformerState = {
  readonly name: string;
  readonly state: string;
  readonly lagMs?: number;
  readonly resourceVersion?: string;
  readonly objects: number;
  readonly events: number;
  readonly lists: number;
  readonly failures: number;
  readonly backlog: number;
  readonly controllers: readonly string[];
  readonly error?: string;
};

export type ControllerState = {
  readonly name: string;
  readonly state: string;
  readonly waitsFor: readonly string[];
  readonly concurrency: number;
  readonly depth: number;
  readonly oldestMs: number;
  readonly delayed: number;
  readonly inFlight: number;
  readonly longestSeconds: number;
  readonly adds: number;
  readonly retries: number;
  readonly results: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly running: readonly { readonly key: string; readonly runningMs: number; readonly isAbandoned: boolean }[];
};

export type Reconcile = {
  readonly controller: string;
  readonly key: string;
  readonly result: string;
  readonly attempt: number;
  readonly durationMs: number;
  readonly causes: readonly string[];
  readonly endedAt: number;
  readonly error?: string;
  readonly retryAfterMs?: number;
};

export class OperatorSampler {
  state: OperatorState | undefined;
  problem: string | undefined;
  readonly reconciles: Series = new Series();
  readonly failures: Series = new Series();
  readonly depth: Series = new Series();
  readonly age: Series = new Series();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!document.hidden) await this.#look(signal);
      await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      const state = await readJson<OperatorState>('operator.json', { signal });
      const at = Date.now() / 1000;
      const { controllers } = state;
      const total = (of: (controller: ControllerState) => number) => controllers.reduce((sum, one) => sum + of(one), 0);
      this.reconciles.pushCount(
        at,
        total(({ results }) => Object.values(results).reduce((sum, count) => sum + count, 0)),
      );
      this.failures.pushCount(
        at,
        total(({ results }) => (results.error ?? 0) + (results.terminal_error ?? 0) + (results.abandoned ?? 0)),
      );
      this.depth.push(
        at,
        total(({ depth }) => depth),
      );
      this.age.push(at, Math.max(0, greatestOf(controllers.map(({ oldestMs }) => oldestMs / 1000))));
      this.state = state;
      this.problem = undefined;
    } catch (err) {
      if (!signal.aborted) this.problem = (err as Error).message;
    }
    this.#onChange();
  }
}
