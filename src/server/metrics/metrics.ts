/**
 * The numbers of one server, in the words of Prometheus. Every part makes its own counters here; nothing is global, so
 * that several servers can live in one process.
 *
 * Who counts on a hot path keeps the child that `labels()` returns, or counts in a plain number and hands it over in
 * `onScrape`: looking a child up by its labels is what costs.
 */
import type { RequestContext } from '../request/request-context.ts';
import { CONTENT_TYPE, exposition } from './exposition.ts';
import { LabelledCounter, LabelledGauge, LabelledHistogram } from './labelled.ts';
import { addProcessMetrics } from './process-metrics.ts';

export type Sample = {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
};

export type CollectedMetric = {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: () => Iterable<Sample>;
};

export interface Metrics {
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): LabelledCounter<L>;
  gauge<L extends string>(name: string, help: string, labels?: readonly L[]): LabelledGauge<L>;
  histogram<L extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly L[],
  ): LabelledHistogram<L>;
  /** One whose values somebody else keeps: asked for with every scrape. */
  collected(metric: CollectedMetric): void;
  /** Called before every scrape, to bring gauges up to date; the scrape waits for it. */
  onScrape(update: () => void | Promise<void>): void;
  /** Everything, as text; `/metrics` is this. */
  text(): Promise<string>;
  /** `ofAll`: the same of all threads, if there are several. */
  handle(context: RequestContext, ofAll?: () => Promise<string>): Promise<void>;
}

export function makeMetrics(): Metrics {
  const all = new Map<string, CollectedMetric>();
  const updates: (() => void | Promise<void>)[] = [];
  const text = async () => {
    await Promise.all(updates.map((update) => update()));
    return exposition(all.values());
  };
  const collected = (metric: CollectedMetric) => {
    if (all.has(metric.name)) throw new Error(`Cannot count: a metric "${metric.name}" is there already`);
    all.set(metric.name, metric);
  };
  const metrics: Metrics = {
    counter: <L extends string>(name: string, help: string, labels: readonly L[] = []) => {
      const counter = new LabelledCounter<L>(labels);
      collected({ name, help, type: 'counter', samples: () => counter.samples() });
      return counter;
    },
    gauge: <L extends string>(name: string, help: string, labels: readonly L[] = []) => {
      const gauge = new LabelledGauge<L>(labels);
      collected({ name, help, type: 'gauge', samples: () => gauge.samples() });
      return gauge;
    },
    histogram: <L extends string>(
      name: string,
      help: string,
      buckets: readonly number[],
      labels: readonly L[] = [],
    ) => {
      const histogram = new LabelledHistogram<L>(labels, buckets);
      collected({ name, help, type: 'histogram', samples: () => histogram.samples() });
      return histogram;
    },
    collected,
    onScrape: (update) => {
      updates.push(update);
    },
    text,
    async handle(context, ofAll = text) {
      context.send(200, CONTENT_TYPE, Buffer.from(await ofAll()));
    },
  };
  addProcessMetrics(metrics);
  return metrics;
}
