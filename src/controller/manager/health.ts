/**
 * How a manager is, judged from what its informers really know.
 *
 * Ready means that every informer has the whole state and has heard from its server lately; a watch that is silently
 * dead makes it unready, a watch that is being taken up again does not. Live is true unless only a new process
 * helps: the manager has failed, or an informer was stopped by a bug.
 */
import type { AnyObject, Informer } from '../../client/index.ts';
import type { Role } from '../election/role-feed.ts';
import { nameOf } from '../reconcile/declared-cache.ts';
import type { ManagedController } from './managed-controller.ts';
import type { InformerHealth, ManagerHealth } from './manager-options.ts';

export type HealthFacts = {
  readonly controllers: readonly ManagedController[];
  readonly role: Role | undefined;
  readonly failure: { readonly error: unknown } | undefined;
  readonly phase: 'new' | 'running' | 'stopping';
  readonly maxLagMs: number;
};

export function healthOf({ controllers, role, failure, phase, maxLagMs }: HealthFacts): ManagerHealth {
  const users = new Map<Informer<AnyObject>, string[]>();
  for (const { name, informers } of controllers)
    for (const informer of informers) users.set(informer, [...(users.get(informer) ?? []), name]);
  const informers = [...users].map(([informer, names]) => informerHealth(informer, names, maxLagMs));
  const dead = informers.filter(({ state }) => state === 'stopped' && phase === 'running');
  const problems = [
    ...(phase === 'new' ? ['the manager has not started'] : []),
    ...(phase === 'stopping' ? ['the manager is stopping'] : []),
    ...(failure ? [`the manager has failed: ${textOf(failure.error)}`] : []),
    ...informers.filter(({ isReady }) => !isReady).map(({ name, why }) => `informer ${name}: ${why}`),
  ];
  return {
    isLive: !failure && dead.length === 0,
    isReady: problems.length === 0,
    informers,
    controllers: controllers.map(({ name, state, waitsFor }) => ({ name, state, waitsFor })),
    role,
    problems,
  };
}

function informerHealth(
  informer: Informer<AnyObject>,
  controllers: readonly string[],
  maxLagMs: number,
): InformerHealth {
  const { state, lagMs, resourceVersion, error } = informer.freshness;
  const why = problemOf(informer, maxLagMs);
  const name = nameOf(informer.resource);
  return { name, controllers, state, lagMs, resourceVersion, error, isReady: why === '', why };
}

function problemOf({ freshness: { state, lagMs, error } }: Informer<AnyObject>, maxLagMs: number): string {
  if (state === 'refused' || state === 'stopped' || state === 'syncing')
    return error === undefined ? state : `${state}: ${textOf(error)}`;
  if (lagMs === undefined || lagMs <= maxLagMs) return '';
  return `silent for ${Math.round(lagMs / 1000)} s`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
