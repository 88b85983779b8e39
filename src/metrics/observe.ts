/**
 * Metrics of clients and controllers in a registry of yours.
 *
 *     const registry = new Registry(); // of prom-client
 *     using metrics = observe(registry, { client, manager });
 *     createServer(async (_, response) => response.end(await registry.metrics())).listen(9090);
 *
 * Everything that uses the client is seen, informers too, without registering itself. Several clusters share a registry
 * if each has a name. Disposing ends it: gauges vanish, and with the last observation of a registry everything.
 */
import type { Transport } from '../client/advanced.ts';
import type { PoolMetricsSnapshot, QueueMetricsSnapshot } from '../controller/advanced.ts';
import { ClientMetrics } from './client-metrics.ts';
import {
  ControllerMetrics,
  type ObservedElector,
  type ObservedHealth,
  type ObservedRest,
  type ObservedWork,
} from './controller-metrics.ts';
import { type MetricRegistry, MetricSet } from './metric-set.ts';

/** A Manager is one. */
export type ObservedManager = {
  readonly controllers: Iterable<ObservedController>;
  readonly elector?: ObservedElector | undefined;
  health?(): ObservedHealth;
};

export type ObservedController = {
  readonly name: string;
  /** Undefined before the first. */
  readonly currentRun: Omit<ObservedWork, 'name'> | undefined;
  metrics(): { readonly queue: QueueMetricsSnapshot; readonly pool: PoolMetricsSnapshot };
};

export type ObserveOptions = {
  readonly client?: { readonly transport: Transport };
  readonly manager?: ObservedManager;
  /** Queues and workers that no manager has; asked at each scrape. */
  readonly queues?: Iterable<ObservedWork>;
  /** Elections that no manager has; asked at each scrape. */
  readonly electors?: Iterable<ObservedElector>;
  /** A label of every series. All but one of the clients in a registry need one. */
  readonly cluster?: string;
};

/** Throws if it would count something twice, or if the registry has a metric of the same name from somebody else. */
export function observe(registry: MetricRegistry, options: ObserveOptions): Disposable {
  const { client, manager, queues, electors, cluster } = options;
  const set = MetricSet.of(registry);
  const common = cluster === undefined ? {} : { cluster };
  const parts: Disposable[] = [];
  const end = () => {
    for (const part of parts.splice(0).reverse()) part[Symbol.dispose]();
  };
  try {
    if (client) parts.push(...observeClient(set, client.transport, common));
    if (manager || queues || electors) parts.push(...observeControllers(set, options, common));
  } catch (error) {
    end();
    throw error;
  }
  return { [Symbol.dispose]: end };
}

/** To be disposed from the last to the first. */
function observeClient(set: MetricSet, transport: Transport, common: { cluster?: string }): Disposable[] {
  const { cluster } = common;
  const key = `client ${cluster === undefined ? '' : JSON.stringify(cluster)}`;
  let metrics: ClientMetrics | undefined;
  if (!set.join(key, () => metrics?.collect())) {
    const found = cluster === undefined ? 'one without the name of a cluster' : `one for cluster "${cluster}"`;
    throw new Error(`Cannot observe the client: the registry has ${found} already`);
  }
  metrics = new ClientMetrics(set, transport, common);
  return [{ [Symbol.dispose]: () => set.leave(key) }, metrics];
}

function observeControllers(set: MetricSet, options: ObserveOptions, common: { cluster?: string }): Disposable[] {
  const { manager, queues = [], electors = [] } = options;
  const key = manager ?? options;
  const metrics = new ControllerMetrics(set, common);
  const isNew = set.join(key, () => {
    const elector = manager?.elector;
    if (manager?.health) metrics.collectHealth(manager.health());
    metrics.collect([...worksOf(manager), ...queues], [...(elector ? [elector] : []), ...electors]);
  });
  if (!isNew) throw new Error('Cannot observe the manager: the registry has it already');
  return [{ [Symbol.dispose]: () => set.leave(key) }, metrics];
}

function worksOf(manager: ObservedManager | undefined): (ObservedWork | ObservedRest)[] {
  return [...(manager?.controllers ?? [])].map((controller) => {
    const { name, currentRun } = controller;
    const { queue, pool } = currentRun ?? {};
    if (queue) return { name, queue, ...(pool && { pool }) };
    return { name, still: controller.metrics() };
  });
}
