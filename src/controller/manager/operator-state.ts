/** The inside of an operator's process as one JSON document: what the page shows of it. Read when somebody asks. */
import { resourceName } from '../../client/advanced.ts';
import type { ManagedController } from './managed-controller.ts';
import type { Manager } from './manager.ts';
import type { InformerHealth } from './manager-options.ts';
import { errorText } from './recent-reconciles.ts';

const MAX_RUNNING = 50;

export function operatorState(manager: Manager): object {
  const { isLive, isReady, problems, informers } = manager.health();
  return {
    isLive,
    isReady,
    problems,
    leader: leaderOf(manager),
    informers: manager.informers.map((informer) => {
      const { resource, freshness, metrics } = informer;
      const name = resourceName(resource);
      const { objects, events, lists, streams, failures, handlers } = metrics;
      const users = informers.find((one) => isSame(one, name, freshness.resourceVersion))?.controllers ?? [];
      return {
        ...{ name, state: freshness.state, lagMs: freshness.lagMs, resourceVersion: freshness.resourceVersion },
        ...{ objects, events, lists, streams, failures, controllers: users },
        backlog: handlers.reduce((sum, { backlog }) => sum + backlog, 0),
        ...(freshness.error !== undefined && { error: errorText(freshness.error) }),
      };
    }),
    controllers: manager.controllers.map(controllerState),
    reconciles: manager.recentReconciles(),
  };
}

function controllerState(controller: ManagedController): object {
  const { name, state, waitsFor, concurrency, currentRun } = controller;
  const { queue, pool } = controller.metrics();
  return {
    ...{ name, state, waitsFor, concurrency },
    depth: queue.workqueue_depth,
    oldestMs: currentRun?.queue.oldestMs ?? 0,
    delayed: queue.workqueue_delayed,
    inFlight: queue.workqueue_in_flight,
    longestSeconds: queue.workqueue_longest_running_processor_seconds,
    adds: queue.workqueue_adds_total,
    retries: queue.workqueue_retries_total,
    results: pool.controller_runtime_reconcile_total,
    seconds: pool.controller_runtime_reconcile_time_seconds.sum,
    running: controller
      .running()
      .slice(0, MAX_RUNNING)
      .map(({ key, runningMs, isAbandoned }) => ({ key, runningMs, isAbandoned })),
  };
}

function leaderOf({ elector }: Manager): object | undefined {
  if (!elector) return undefined;
  const { name, identity, role, unseenMs, lastError } = elector;
  return {
    ...{ name, identity, unseenMs, isLeading: role.kind === 'leading' },
    leader: role.kind === 'leading' ? identity : role.leader,
    ...(role.kind === 'leading' && { term: role.token.term }),
    ...(lastError !== undefined && { error: errorText(lastError) }),
  };
}

/** Two informers of one kind differ in what they select, and so, mostly, in where they are. */
function isSame(health: InformerHealth, name: string, version: string | undefined): boolean {
  return health.name === name && health.resourceVersion === version;
}
