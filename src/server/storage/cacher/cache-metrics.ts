/**
 * What the caches and the store tell whoever looks after them: read when somebody looks, so that counting costs nothing
 * in between. The names are those of kube-apiserver and of the runbooks people have for it; where those differ there are both.
 */
import type { Store, StoreStatus } from '../../../store/index.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { qualifiedName } from '../../registry/resource.ts';
import type { ListCount } from './cache-counts.ts';
import type { Cacher } from './cacher.ts';

const LABELS = ['group', 'resource'] as const;

type CacheFigure = { readonly name: string; readonly help: string; readonly read: (cacher: Cacher) => number };

const counters: readonly CacheFigure[] = [
  {
    name: 'apiserver_watch_cache_events_received_total',
    help: 'Events the watch cache got from the store.',
    read: ({ counts }) => counts.received,
  },
  {
    name: 'apiserver_watch_cache_events_dispatched_total',
    help: 'Events handed to watchers.',
    read: ({ counts }) => counts.dispatched,
  },
  {
    name: 'apiserver_watch_cache_initializations_total',
    help: 'Times the cache was filled from the store.',
    read: ({ counts }) => counts.initializations,
  },
  {
    name: 'apiserver_watch_cache_capacity_increase_total',
    help: 'Times the window of recent changes was given more room.',
    read: ({ watchCache }) => watchCache.growths,
  },
  {
    name: 'watch_cache_capacity_increase_total',
    help: 'Times the window of recent changes was given more room.',
    read: ({ watchCache }) => watchCache.growths,
  },
  {
    name: 'apiserver_watch_cache_list_total',
    help: 'Lists served from the cache.',
    read: ({ counts }) => counts.lists,
  },
  {
    name: 'apiserver_storage_list_total',
    help: 'Number of LIST requests served from storage',
    read: ({ direct }) => direct.listed.lists,
  },
  {
    name: 'apiserver_storage_list_fetched_objects_total',
    help: 'Number of objects read from storage in the course of serving a LIST request',
    read: ({ direct }) => direct.listed.fetched,
  },
  {
    name: 'apiserver_watch_cache_stale_total',
    help: 'Reads and watches refused because the history they asked for is gone.',
    read: ({ counts }) => counts.stale,
  },
  {
    name: 'apiserver_watch_cache_bookmarks_total',
    help: 'Bookmarks sent.',
    read: ({ counts }) => counts.bookmarks,
  },
];

const listFigures = [
  {
    name: 'apiserver_cache_list_total',
    help: 'Number of LIST requests served from watch cache',
    read: ({ lists }: ListCount) => lists,
  },
  {
    name: 'apiserver_cache_list_fetched_objects_total',
    help: 'Number of objects read from watch cache in the course of serving a LIST request',
    read: ({ fetched }: ListCount) => fetched,
  },
];

const gauges: readonly CacheFigure[] = [
  {
    name: 'apiserver_watch_cache_resource_version',
    help: 'The revision the cache has reached.',
    read: ({ revision }) => revision,
  },
  {
    name: 'apiserver_watch_cache_capacity',
    help: 'Recent changes there is room for.',
    read: ({ watchCache }) => watchCache.capacity,
  },
  {
    name: 'watch_cache_capacity',
    help: 'Recent changes there is room for.',
    read: ({ watchCache }) => watchCache.capacity,
  },
  {
    name: 'apiserver_registered_watchers',
    help: 'Watchers that are up to date and live.',
    read: ({ watchers }) => watchers.size,
  },
  {
    name: 'apiserver_resource_size_estimate_bytes',
    help: 'Bytes that the objects take; -1 while nobody knows.',
    read: ({ isReady, objects }) => (isReady ? objects.bytes : -1),
  },
  { name: 'apiserver_resource_objects', help: 'Objects there are.', read: ({ objects }) => objects.size },
];

export function addCacheMetrics(metrics: Metrics, cachers: () => Iterable<Cacher>): void {
  const told = new Map<string, number>();
  const counted = counters.map((figure) => ({ figure, metric: metrics.counter(figure.name, figure.help, LABELS) }));
  const byIndex = listFigures.map((figure) => ({
    figure,
    metric: metrics.counter(figure.name, figure.help, ['group', 'resource', 'index']),
  }));
  const measured = gauges.map((figure) => ({ figure, metric: metrics.gauge(figure.name, figure.help, LABELS) }));
  const stored = metrics.gauge('apiserver_storage_objects', 'Objects there are, by the whole name of what they are.', [
    'resource',
  ]);
  metrics.onScrape(() => {
    for (const cacher of cachers()) {
      const { group, plural } = cacher.codec.resource;
      const labels = { group, resource: plural };
      stored.labels({ resource: qualifiedName(cacher.codec.resource) }).set(cacher.objects.size);
      for (const { figure, metric } of counted) {
        const id = `${figure.name} ${cacher.keys.prefix}`;
        const value = figure.read(cacher);
        metric.inc(labels, value - (told.get(id) ?? 0));
        told.set(id, value);
      }
      for (const [index, count] of cacher.counts.listsBy)
        for (const { figure, metric } of byIndex) {
          const id = `${figure.name} ${cacher.keys.prefix} ${index}`;
          const value = figure.read(count);
          metric.inc({ ...labels, index }, value - (told.get(id) ?? 0));
          told.set(id, value);
        }
      for (const { figure, metric } of measured) metric.labels(labels).set(figure.read(cacher));
    }
  });
}

/** A scrape waits no longer than this for the store, and then shows the figures of the one before. */
const STATUS_MS = 1000;

/** The store's own figures, as they are at the scrape. */
export function addStoreMetrics(metrics: Metrics, store: Store): void {
  const size = metrics.gauge('apiserver_storage_size_bytes', 'Size of the storage database file.', [
    'storage_cluster_id',
  ]);
  const inUse = metrics.gauge('etcd_mvcc_db_total_size_in_use_in_bytes', 'Space of the store that holds data.');
  const watchers = metrics.gauge('etcd_debugging_mvcc_watcher_total', 'Watchers of the store.');
  const last = metrics.gauge('etcd_debugging_mvcc_db_compaction_last', 'The unix time of the last compaction.');
  const seconds = metrics.gauge(
    'etcd_debugging_mvcc_db_compaction_total_duration_seconds',
    'Time compactions have taken in all.',
  );
  const revision = metrics.gauge('etcd_debugging_mvcc_compact_revision', 'The revision of the last compaction.');
  const show = (status: StoreStatus) => {
    size.labels({ storage_cluster_id: status.backend }).set(status.sizeBytes);
    inUse.set(status.sizeInUseBytes);
    if (status.watchers !== undefined) watchers.set(status.watchers);
    if (!status.compaction) return;
    last.set(status.compaction.lastAtUnixSeconds);
    seconds.set(status.compaction.totalSeconds);
    revision.set(status.compaction.revision);
  };
  metrics.onScrape(
    () => store.status({ signal: AbortSignal.timeout(STATUS_MS) }).then(show, () => {}), // /readyz tells of a store that is away
  );
}
