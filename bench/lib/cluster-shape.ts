/**
 * The cluster that is played: how many nodes and pods, what changes how often, and what the two processes say to each other.
 *
 * Rates follow the pods, so that a small cluster is a large one seen through a smaller window: 20 pods a second change places
 * among 100,000. A quarter of them are behind a Service, and each of those changes a slice that every node's proxy watches.
 */

export type ClusterShape = {
  readonly nodes: number;
  readonly pods: number;
  /** Of the whole load, after everybody is connected. */
  readonly seconds: number;
};

const PODS_PER_NODE = 20;
export const CHURN_PER_POD_SECOND: number = 20 / 100_000;
export const SERVED_SHARE = 0.25;
export const ENDPOINTS_PER_SLICE = 10;
export const LEASE_SECONDS = 10;
export const NODE_STATUS_SECONDS = 300;
/** Before anything counts: compilers and caches take their time. */
export const WARM_UP_SECONDS = 5;
export const CONTROLLERS = 10;
export const READS_PER_SECOND = 10;
/** Nodes to a service: a cluster of 5,000 has 500 of them. */
const NODES_PER_SERVICE = 10;

export function shapeFor(
  isWhole: boolean,
  isQuick: boolean,
  size: { readonly nodes?: number | undefined; readonly seconds?: number | undefined } = {},
): ClusterShape {
  const usual = isQuick ? { nodes: 50, seconds: 10 } : { nodes: 500, seconds: 60 };
  const { nodes, seconds } = isWhole ? { nodes: 5000, seconds: 300 } : usual;
  const played = size.nodes ?? nodes;
  return { nodes: played, pods: played * PODS_PER_NODE, seconds: size.seconds ?? seconds };
}

export function servicesOf({ nodes }: ClusterShape): number {
  return Math.max(1, Math.round(nodes / NODES_PER_SERVICE));
}

export type LoadOrder =
  | {
      readonly kind: 'connect';
      readonly endpoint: { readonly port: number; readonly token: string };
      readonly shape: ClusterShape;
    }
  | { readonly kind: 'load' }
  | { readonly kind: 'look' }
  | { readonly kind: 'units'; readonly of: Unit; readonly count: number };

/** What the load is made of, by itself: a renewal of a lease, the whole life of a pod, a write of a slice. */
export type Unit = 'lease' | 'pod' | 'slice';

export type UnitsDone = { readonly done: number; readonly events: number; readonly eventBytes: number };

export type Percentiles = {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

/** What has come of it since the load began. */
export type LoadReport = {
  readonly seconds: number;
  readonly writes: Percentiles;
  readonly leases: Percentiles;
  readonly podWrites: Percentiles;
  readonly sliceWrites: Percentiles;
  readonly reads: Percentiles;
  /** From a write leaving to its event coming; of some watches. */
  readonly eventLatency: Percentiles;
  readonly events: number;
  readonly eventBytes: number;
  readonly refused: number;
  readonly failed: number;
  readonly goneErrors: number;
  readonly cutOff: number;
  readonly openWatches: number;
  /** How late the generator itself was: what it says of others is not better than this. */
  readonly ownDelayP99Ms: number;
  readonly ownCpuMicros: number;
  readonly isOver: boolean;
};
