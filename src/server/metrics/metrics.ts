/**
 * The numbers of one server, in the words of Prometheus. Every part makes its own counters here; nothing is global, so
 * that several servers can live in one process.
 *
 * Who counts on a hot path keeps the child that `labels()` returns, or counts in a plain number and hands it over in
 * `onScrape`: looking a child up by its labels is what costs.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Exchange } from '../http/exchange.ts';
import { addProcessMetrics } from './process-metrics.ts';

export interface Metrics {
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  gauge<L extends string>(name: string, help: string, labels?: readonly L[]): Gauge<L>;
  histogram<L extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly L[],
  ): Histogram<L>;
  /** Called before every scrape, to bring gauges up to date; the scrape waits for it. */
  onScrape(update: () => void | Promise<void>): void;
  /** Everything, as text; `/metrics` is this. */
  text(): Promise<string>;
  handle(exchange: Exchange): Promise<void>;
}

export function makeMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const updates: (() => void | Promise<void>)[] = [];
  const text = async () => {
    await Promise.all(updates.map((update) => update()));
    return registry.metrics();
  };
  const metrics: Metrics = {
    counter: (name, help, labels = []) => new Counter({ name, help, labelNames: [...labels], registers }),
    gauge: (name, help, labels = []) => new Gauge({ name, help, labelNames: [...labels], registers }),
    histogram: (name, help, buckets, labels = []) =>
      new Histogram({ name, help, buckets: [...buckets], labelNames: [...labels], registers }),
    onScrape: (update) => {
      updates.push(update);
    },
    text,
    async handle(exchange) {
      exchange.send(200, registry.contentType, Buffer.from(await text()));
    },
  };
  addProcessMetrics(metrics);
  return metrics;
}
