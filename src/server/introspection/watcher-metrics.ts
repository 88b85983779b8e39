/**
 * Figures of watches, by resource: how far behind they are, how many are slow, what they were sent, why history was gone.
 *
 * Nothing is counted for it where events are handed out but what a watch counts of itself: sums are made at the scrape.
 * Only the lag is looked at once a second, since a watch that hangs between two scrapes must show: of those that are live
 * that is one step, of the others a look into the window.
 */

import type { Metrics, Sample } from '../metrics/metrics.ts';
import { PlainHistogram } from '../metrics/plain-histogram.ts';
import type { ObjectWatch, WatchedStorage, WatchReport } from '../storage/object-watch.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import type { Expirations } from './expirations.ts';
import { lagSeconds } from './watches.ts';

const LOOK_MS = 1000;
const SLOW_SECONDS = 1;
const LAG_BOUNDS = [0.005, 0.05, 0.25, 1, 2.5, 5, 10, 30, 60, 120, 300];

type Labels = { readonly group: string; readonly resource: string };
type Watched = WatchedStorage & {
  readonly codec: { readonly resource: { readonly group: string; readonly version: string; readonly plural: string } };
};

export class WatcherMetrics {
  readonly #storages: Pick<ResourceStorages, 'watched'>;
  readonly #lags = new Map<string, { readonly labels: Labels; readonly histogram: PlainHistogram }>();
  readonly #timer: NodeJS.Timeout;

  constructor(metrics: Metrics, storages: Pick<ResourceStorages, 'watched'>, expirations: Expirations) {
    this.#storages = storages;
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    this.#timer.unref();
    this.#addTo(metrics);
    metrics.collected({
      name: 'longwatch_expirations_total',
      help: 'Answers "410 Gone", by why the history was gone: compaction, history (another one), window.',
      type: 'counter',
      *samples() {
        for (const { labels, count: value } of expirations.counts.values()) yield { labels, value };
      },
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Every open watch is one observation of its lag, once a second. */
  look(): void {
    for (const storage of this.#storages.watched()) {
      if (storage.watches.size === 0) continue;
      const histogram = this.#lagsOf(storage);
      let live = 0;
      for (const watch of storage.watches)
        if (watch.isLive) live++;
        else histogram.observe(lagSeconds(watch.report()));
      if (live > 0) histogram.observe(0, live);
    }
  }

  #addTo(metrics: Metrics): void {
    const lags = this.#lags;
    metrics.collected({
      name: 'longwatch_watch_lag_seconds',
      help: 'How far behind open watches are: one observation of each, every second.',
      type: 'histogram',
      *samples() {
        for (const { labels, histogram } of lags.values()) yield* histogram.samples({ ...labels });
      },
    });
    const figure = (name: string, help: string, type: 'counter' | 'gauge', read: (storage: Watched) => number) =>
      metrics.collected({ name, help, type, samples: () => this.#each(read) });
    figure('longwatch_watch_sent_events_total', 'Events that watches were sent.', 'counter', ({ sent, watches }) =>
      sumOf(watches, sent.events, ({ eventsSent }) => eventsSent),
    );
    metrics.collected({
      name: 'apiserver_watch_events_total',
      help: 'The same under the name of kube-apiserver, by the version that objects are kept in.',
      type: 'counter',
      samples: () => this.#sent(),
    });
    figure('longwatch_watch_sent_bytes_total', 'Bytes that watches were sent.', 'counter', ({ sent, watches }) =>
      sumOf(watches, sent.bytes, ({ bytesSent }) => bytesSent),
    );
    figure('longwatch_watch_unread_bytes', 'Bytes that wait for clients of watches to read.', 'gauge', ({ watches }) =>
      sumOf(watches, 0, ({ unreadBytes }) => unreadBytes),
    );
    figure('longwatch_slow_watchers', 'Watches that are a second or more behind.', 'gauge', ({ watches }) =>
      sumOf(watches, 0, (report) => Number(lagSeconds(report) >= SLOW_SECONDS)),
    );
    metrics.collected({
      name: 'longwatch_watchers',
      help: 'Open watches, by what they are doing.',
      type: 'gauge',
      samples: () => this.#states(),
    });
  }

  /** Versions of a resource that are watched apart are one figure. */
  *#each(read: (storage: Watched) => number): Generator<Sample> {
    const sums = new Map<string, { labels: Labels; value: number }>();
    for (const storage of this.#storages.watched()) {
      const labels = labelsOf(storage);
      const id = idOf(labels);
      const sum = sums.get(id) ?? { labels, value: 0 };
      sum.value += read(storage);
      sums.set(id, sum);
    }
    yield* sums.values();
  }

  *#sent(): Generator<Sample> {
    const sums = new Map<string, { labels: Labels & { readonly version: string }; value: number }>();
    for (const { sent, watches, codec } of this.#storages.watched()) {
      const { group, version, plural } = codec.resource;
      const id = `${plural}.${version}.${group}`;
      const sum = sums.get(id) ?? { labels: { group, version, resource: plural }, value: 0 };
      sum.value += sumOf(watches, sent.events, ({ eventsSent }) => eventsSent);
      sums.set(id, sum);
    }
    yield* sums.values();
  }

  *#states(): Generator<Sample> {
    const counts = new Map<string, { labels: Labels & { readonly state: string }; value: number }>();
    for (const storage of this.#storages.watched())
      for (const watch of storage.watches) {
        const labels = { ...labelsOf(storage), state: watch.report().state };
        const id = `${idOf(labels)} ${labels.state}`;
        const count = counts.get(id) ?? { labels, value: 0 };
        count.value++;
        counts.set(id, count);
      }
    yield* counts.values();
  }

  #lagsOf(storage: Watched): PlainHistogram {
    const labels = labelsOf(storage);
    const id = idOf(labels);
    const known = this.#lags.get(id) ?? { labels, histogram: new PlainHistogram(LAG_BOUNDS) };
    this.#lags.set(id, known);
    return known.histogram;
  }
}

function labelsOf({ codec }: Watched): Labels {
  return { group: codec.resource.group, resource: codec.resource.plural };
}

function idOf({ group, resource }: Labels): string {
  return `${resource}.${group}`;
}

function sumOf(watches: Iterable<ObjectWatch>, first: number, read: (report: WatchReport) => number): number {
  let sum = first;
  for (const watch of watches) sum += read(watch.report());
  return sum;
}
