/** What the caches tell whoever looks after them: read when somebody looks, so counting costs nothing in between. */
import type { Metrics } from '../metrics/metrics.ts';
import type { ResourceCache } from './resource-cache.ts';

export function addCacheMetrics(metrics: Metrics, caches: () => Iterable<ResourceCache>): void {
  const labels = ['group', 'resource'] as const;
  const gauges = {
    received: metrics.gauge(
      'apiserver_watch_cache_events_received_total',
      'Events the watch cache got from the store.',
      labels,
    ),
    dispatched: metrics.gauge('apiserver_watch_cache_events_dispatched_total', 'Events handed to watchers.', labels),
    initializations: metrics.gauge(
      'apiserver_watch_cache_initializations_total',
      'Times the cache was filled.',
      labels,
    ),
    revision: metrics.gauge('apiserver_watch_cache_resource_version', 'The revision the cache has reached.', labels),
    capacity: metrics.gauge('apiserver_watch_cache_capacity', 'Events in the window of recent changes.', labels),
    watchers: metrics.gauge('apiserver_registered_watchers', 'Watchers that are up to date and live.', labels),
    objects: metrics.gauge('apiserver_resource_objects', 'Objects there are.', labels),
  };
  metrics.onScrape(() => {
    for (const cache of caches()) {
      const { group, plural } = cache.form.resource;
      const of = { group, resource: plural };
      gauges.received.set(of, cache.counts.received);
      gauges.dispatched.set(of, cache.counts.dispatched);
      gauges.initializations.set(of, cache.counts.initializations);
      gauges.revision.set(of, cache.revision);
      gauges.capacity.set(of, cache.window.size);
      gauges.watchers.set(of, cache.watchers.size);
      gauges.objects.set(of, cache.objects.size);
    }
  });
}
