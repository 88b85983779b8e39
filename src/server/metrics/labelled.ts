/**
 * Counters, gauges and histograms with labels, whose children count in plain numbers.
 *
 * `labels()` finds a child once; who keeps it pays an addition per count. A metric without labels is there from the
 * beginning, at zero.
 */
import type { Sample } from './metrics.ts';
import { PlainHistogram } from './plain-histogram.ts';

export type LabelValues<L extends string> = Readonly<Partial<Record<L, string>>>;

type Child<C> = { readonly labels: Readonly<Record<string, string>>; readonly cell: C };

abstract class Labelled<L extends string, C> {
  readonly #names: readonly L[];
  readonly #children = new Map<string, Child<C>>();

  constructor(names: readonly L[]) {
    this.#names = names;
  }

  labels(values: LabelValues<L> = {} as LabelValues<L>): C {
    let key = '';
    for (const name of this.#names) key += `${values[name] ?? ''}\u0000`;
    const known = this.#children.get(key);
    if (known) return known.cell;
    const labels: Record<string, string> = {};
    for (const name of this.#names) if (values[name] !== undefined) labels[name] = values[name];
    const child = { labels, cell: this.make() };
    this.#children.set(key, child);
    return child.cell;
  }

  *samples(): Generator<Sample, void, void> {
    if (this.#names.length === 0) this.labels();
    for (const { labels, cell } of this.#children.values()) yield* this.read(cell, labels);
  }

  protected abstract make(): C;
  protected abstract read(cell: C, labels: Sample['labels']): Iterable<Sample>;
}

export class Count {
  value = 0;

  inc(amount = 1): void {
    this.value += amount;
  }
}

export class LabelledCounter<L extends string> extends Labelled<L, Count> {
  inc(labels?: LabelValues<L>, amount = 1): void {
    this.labels(labels).inc(amount);
  }

  protected override make(): Count {
    return new Count();
  }

  protected override read({ value }: Count, labels: Sample['labels']): Iterable<Sample> {
    return [{ labels, value }];
  }
}

/** A number that goes up and down. */
export class Level {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  inc(amount = 1): void {
    this.value += amount;
  }

  dec(amount = 1): void {
    this.value -= amount;
  }
}

export class LabelledGauge<L extends string> extends Labelled<L, Level> {
  /** Of one without labels. */
  set(value: number): void {
    this.labels().set(value);
  }

  protected override make(): Level {
    return new Level();
  }

  protected override read({ value }: Level, labels: Sample['labels']): Iterable<Sample> {
    return [{ labels, value }];
  }
}

export class LabelledHistogram<L extends string> extends Labelled<L, PlainHistogram> {
  readonly #bounds: readonly number[];

  constructor(names: readonly L[], bounds: readonly number[]) {
    super(names);
    this.#bounds = bounds;
  }

  observe(labels: LabelValues<L>, value: number): void {
    this.labels(labels).observe(value);
  }

  protected override make(): PlainHistogram {
    return new PlainHistogram(this.#bounds);
  }

  protected override read(cell: PlainHistogram, labels: Sample['labels']): Iterable<Sample> {
    return cell.samples(labels);
  }
}
