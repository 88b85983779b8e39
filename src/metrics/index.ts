/** Metrics of clients, informers and controllers, in registries of prom-client. */
export type { ObservedElector, ObservedWork } from './controller-metrics.ts';
export { type Definition, definitions, type MetricName } from './definitions.ts';
export type { MetricRegistry } from './metric-set.ts';
export { type ObservedController, type ObservedManager, type ObserveOptions, observe } from './observe.ts';
