/**
 * Looks at the cluster once a second and keeps what it saw: the present, and series of the last ten minutes.
 *
 * A cluster that does not serve introspection is looked at through `/metrics` alone, every ten seconds, since there that is a
 * big text. A read that fails leaves the last state standing and says so; a hidden page does not ask.
 */
import { greatestOf } from '../../api/extremes.ts';
import { type Expiration, type FlowLevel, GROUP, type Watch, type WatchCache } from './inside.ts';
import { figuresIn, type MetricFigures } from './metrics-text.ts';
import { ReadError, readJson, readText } from './reading.ts';
import { Series } from './series.ts';

const PERIOD_MS = 1000;
const FOREIGN_PERIOD_MS = 10_000;
/** Figures of `/metrics`, every so many looks. */
const METRICS_EVERY = 5;

export type Lists = {
  readonly watches: readonly Watch[];
  readonly caches: readonly WatchCache[];
  readonly expirations: readonly Expiration[];
  readonly levels: readonly FlowLevel[];
};

export type ClusterState = {
  /** Undefined: not known yet. */
  readonly isOurs: boolean | undefined;
  readonly lists: Lists | undefined;
  readonly figures: MetricFigures | undefined;
  /** What keeps it from looking, if something does. */
  readonly problem: string | undefined;
};

export class ClusterSampler {
  state: ClusterState = { isOurs: undefined, lists: undefined, figures: undefined, problem: undefined };
  readonly changes: Series = new Series();
  readonly dispatched: Series = new Series();
  readonly worstLag: Series = new Series();
  readonly behind: Series = new Series();
  readonly gone: Series = new Series();
  readonly rejected: Series = new Series();
  readonly requests: Series = new Series();
  /** By the name of the watch. */
  readonly lagOf: Map<string, Series> = new Map();
  readonly eventsOf: Map<string, Series> = new Map();
  readonly #root: string;
  readonly #onChange: () => void;
  #looks = 0;

  constructor(root: string, onChange: () => void) {
    this.#root = root;
    this.#onChange = onChange;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!document.hidden) await this.#look(signal);
      const pauseMs = this.state.isOurs === false ? FOREIGN_PERIOD_MS : PERIOD_MS;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      if (this.state.isOurs !== false) await this.#lookInside(signal);
      const isDue = this.#looks++ % METRICS_EVERY === 0 || this.state.isOurs === false;
      if (isDue) await this.#lookAtMetrics(signal);
      this.#set({ problem: undefined });
    } catch (err) {
      if (!signal.aborted) this.#set({ problem: (err as Error).message });
    }
  }

  async #lookInside(signal: AbortSignal): Promise<void> {
    const list = async <T>(resource: string): Promise<readonly T[]> =>
      (await readJson<{ items: T[] | null }>(`${this.#root}/${GROUP}/${resource}`, { signal })).items ?? [];
    try {
      const [watches, caches, expirations, levels] = await Promise.all([
        list<Watch>('watches'),
        list<WatchCache>('watchcaches'),
        list<Expiration>('expirations'),
        list<FlowLevel>('flowlevels'),
      ]);
      this.#note({ watches, caches, expirations, levels });
    } catch (err) {
      if (!(err instanceof ReadError) || err.code !== 404) throw err;
      this.#set({ isOurs: false });
    }
  }

  async #lookAtMetrics(signal: AbortSignal): Promise<void> {
    try {
      const figures = figuresIn(await readText(`${this.#root}/metrics`, { signal }));
      const at = Date.now() / 1000;
      this.requests.pushCount(at, figures.requests);
      if (this.state.isOurs === false) {
        this.gone.pushCount(at, figures.answers410);
        this.rejected.pushCount(at, figures.answers429);
      }
      this.#set({ figures });
    } catch (err) {
      if (!(err instanceof ReadError) || err.code !== 403) throw err; // who may not read them sees the rest
    }
  }

  #note(lists: Lists): void {
    const at = Date.now() / 1000;
    const { watches, caches, expirations, levels } = lists;
    this.changes.pushCount(
      at,
      sum(caches, ({ status }) => status.eventsReceived),
    );
    this.dispatched.pushCount(
      at,
      sum(caches, ({ status }) => status.eventsDispatched),
    );
    this.worstLag.push(at, Math.max(0, greatestOf(watches.map(({ status }) => status.behind.seconds))));
    this.behind.push(at, watches.filter(({ status }) => status.behind.seconds >= 1).length);
    this.gone.pushCount(
      at,
      expirations.reduce((last, { metadata }) => Math.max(last, ordinal(metadata)), 0),
    );
    this.rejected.pushCount(
      at,
      sum(levels, ({ status }) => status.rejected),
    );
    const open = new Set(watches.map(({ metadata }) => metadata.name));
    for (const all of [this.lagOf, this.eventsOf]) for (const name of all.keys()) if (!open.has(name)) all.delete(name);
    for (const { metadata, status } of watches) {
      seriesOf(this.lagOf, metadata.name).push(at, status.behind.seconds);
      seriesOf(this.eventsOf, metadata.name).pushCount(at, status.eventsSent);
    }
    this.#set({ isOurs: true, lists });
  }

  #set(change: Partial<ClusterState>): void {
    this.state = { ...this.state, ...change };
    this.#onChange();
  }
}

function seriesOf(all: Map<string, Series>, name: string): Series {
  const series = all.get(name) ?? new Series();
  all.set(name, series);
  return series;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** `exp-000017`: they are counted, and only the last thousand are kept. */
function ordinal({ name }: { readonly name: string }): number {
  return Number(name.slice(name.lastIndexOf('-') + 1)) || 0;
}
