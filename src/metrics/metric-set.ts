/**
 * All metrics of ours in one registry, shared by everybody who is observed there: several clusters and managers are
 * series of the same metrics.
 *
 * What is always true: gauges show what is there at the moment of the scrape, and vanish with whoever they were about.
 * Counters and histograms stay while anybody is observed in the registry, so they never fall. With the last one all are
 * taken out again. The scrape asks everybody once, however many metrics it reads.
 */
import type { Metric, Registry } from 'prom-client';
import { definitions, type MetricName } from './definitions.ts';
import { HistogramFamily, ValueFamily } from './family.ts';

/** Called at every scrape: fills the gauges, and brings counters up to date that are kept elsewhere. */
export type Collector = () => void;

/** What is used of a registry: any of prom-client's, whatever format it speaks. */
export type MetricRegistry = Pick<Registry, 'registerMetric' | 'getSingleMetric' | 'removeSingleMetric'>;

type Family = ValueFamily | HistogramFamily;

const sets = new WeakMap<MetricRegistry, MetricSet>();
const names = Object.keys(definitions) as MetricName[];

export class MetricSet {
  readonly #registry: MetricRegistry;
  readonly #families = new Map<MetricName, Family>();
  readonly #collectors = new Map<unknown, Collector>();
  #isCollected = false;

  static of(registry: MetricRegistry): MetricSet {
    const set = sets.get(registry) ?? new MetricSet(registry);
    sets.set(registry, set);
    return set;
  }

  private constructor(registry: MetricRegistry) {
    this.#registry = registry;
  }

  /** Something is observed until it leaves; `key` tells it from others. False if it is observed already. */
  join(key: unknown, collect: Collector): boolean {
    if (this.#collectors.has(key)) return false;
    if (this.#collectors.size === 0) this.#register();
    this.#collectors.set(key, collect);
    return true;
  }

  leave(key: unknown): void {
    if (!this.#collectors.delete(key) || this.#collectors.size > 0) return;
    for (const name of names)
      if ((this.#registry.getSingleMetric(name) as unknown) === this.#families.get(name))
        this.#registry.removeSingleMetric(name);
    this.#families.clear();
  }

  values(name: MetricName): ValueFamily {
    return this.#families.get(name) as ValueFamily;
  }

  histogram(name: MetricName): HistogramFamily {
    return this.#families.get(name) as HistogramFamily;
  }

  #register(): void {
    const taken = names.find((name) => this.#registry.getSingleMetric(name) !== undefined);
    if (taken) throw new Error(`Cannot observe in this registry: it has a metric "${taken}" of somebody else`);
    for (const name of names) {
      const definition = definitions[name];
      const Kind = definition.type === 'histogram' ? HistogramFamily : ValueFamily;
      const family = new Kind(name, definition, () => this.#collect());
      this.#families.set(name, family);
      this.#registry.registerMetric(family as unknown as Metric);
    }
  }

  /** A registry begins to read all its metrics in one turn of the loop: what was collected is good for that turn. */
  #collect(): void {
    if (this.#isCollected) return;
    this.#isCollected = true;
    queueMicrotask(() => {
      this.#isCollected = false;
    });
    for (const family of this.#families.values()) if (family.type === 'gauge') family.reset();
    for (const collect of this.#collectors.values()) collect();
  }
}
