/**
 * One metric with all its label sets, in cells of our own: counting is an addition, and nothing of prom-client is
 * loaded; its registry is spoken to by shape.
 *
 * What is always true: no more than MAX_SERIES label sets exist. Whatever comes after counts under one set whose labels
 * all say `other`, so that the sums stay right however odd the labels are.
 */
import type { Definition } from './definitions.ts';

export type Labels = Readonly<Record<string, string>>;

/** What a registry reads. */
export type Reading = {
  readonly name: string;
  readonly help: string;
  readonly type: Definition['type'];
  readonly aggregator: 'sum';
  readonly values: readonly { labels: Labels | Record<string, string | number>; value: number; metricName?: string }[];
};

/** A histogram as numbers: how many were in each bucket or below, how many there were, and their sum. */
export type Distribution = {
  readonly count: number;
  readonly sum: number;
  readonly buckets: readonly (readonly [upperBound: number, count: number])[];
};

const MAX_SERIES = 1000;
const OTHER = 'other';

abstract class Family<Cell extends { readonly labels: Labels }> {
  /** A registry that speaks OpenMetrics writes it anew, without `_total`. */
  name: string;
  readonly help: string;
  readonly type: Definition['type'];
  readonly aggregator = 'sum';
  readonly labelNames: readonly string[];
  readonly #cells = new Map<string, Cell>();
  readonly #beforeRead: () => void;

  constructor(name: string, { help, type, labels }: Definition, beforeRead: () => void) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.labelNames = [...labels, 'cluster'];
    this.#beforeRead = beforeRead;
  }

  async get(): Promise<Reading> {
    this.#beforeRead();
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: [...this.#cells.values()].flatMap((cell) => this.read(cell)) };
  }

  reset(): void {
    this.#cells.clear();
  }

  protected abstract make(labels: Labels): Cell;
  protected abstract read(cell: Cell): Reading['values'];

  protected cell(labels: Labels): Cell {
    const key = this.#keyOf(labels);
    const known = this.#cells.get(key);
    if (known) return known;
    if (this.#cells.size >= MAX_SERIES && !isOther(labels))
      return this.cell(Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER])));
    const cell = this.make(this.#ordered(labels));
    this.#cells.set(key, cell);
    return cell;
  }

  #keyOf(labels: Labels): string {
    let key = '';
    for (const name of this.labelNames) key += `${labels[name] ?? ''}\u0000`;
    return key;
  }

  #ordered(labels: Labels): Labels {
    const names = this.labelNames.filter((name) => labels[name] !== undefined);
    return Object.fromEntries(names.map((name) => [name, labels[name]!]));
  }
}

type Value = { readonly labels: Labels; value: number };

/** Counters and gauges. */
export class ValueFamily extends Family<Value> {
  /** With 0 it only makes sure that the series is there. */
  add(labels: Labels, amount: number): void {
    this.cell(labels).value += amount;
  }

  /** Of several values, the largest stays. */
  raise(labels: Labels, value: number): void {
    const cell = this.cell(labels);
    cell.value = Math.max(cell.value, value);
  }

  protected override make(labels: Labels): Value {
    return { labels, value: 0 };
  }

  protected override read({ labels, value }: Value): Reading['values'] {
    return [{ labels, value }];
  }
}

type Histogram = { readonly labels: Labels; sum: number; count: number; counts: Map<number, number> };

export class HistogramFamily extends Family<Histogram> {
  readonly #bounds: readonly number[];

  constructor(name: string, definition: Definition, beforeRead: () => void) {
    super(name, definition, beforeRead);
    this.#bounds = definition.buckets ?? [];
  }

  observe(labels: Labels, value: number): void {
    const cell = this.cell(labels);
    cell.sum += value;
    cell.count++;
    for (const bound of this.#bounds) if (value <= bound) cell.counts.set(bound, cell.counts.get(bound)! + 1);
  }

  /** What came since the last time, of a histogram that is kept elsewhere. */
  addDifference(labels: Labels, now: Distribution, before: Distribution | undefined): void {
    const cell = this.cell(labels);
    cell.sum += now.sum - (before?.sum ?? 0);
    cell.count += now.count - (before?.count ?? 0);
    now.buckets.forEach(([bound, count], index) => {
      const had = before?.buckets[index]?.[1] ?? 0;
      cell.counts.set(bound, (cell.counts.get(bound) ?? 0) + count - had);
    });
  }

  protected override make(labels: Labels): Histogram {
    return { labels, sum: 0, count: 0, counts: new Map(this.#bounds.map((bound) => [bound, 0])) };
  }

  protected override read({ labels, sum, count, counts }: Histogram): Reading['values'] {
    const metricName = `${this.name}_bucket`;
    return [
      ...[...counts].map(([le, value]) => ({ labels: { ...labels, le }, value, metricName })),
      { labels: { ...labels, le: '+Inf' }, value: count, metricName },
      { labels, value: sum, metricName: `${this.name}_sum` },
      { labels, value: count, metricName: `${this.name}_count` },
    ];
  }
}

function isOther(labels: Labels): boolean {
  return Object.values(labels).every((value) => value === OTHER);
}
