/**
 * How a manager is, judged from what its informers, its reconciles and its election really do.
 *
 * Ready means that every informer has the whole state and has heard from its server lately, that no handler or reconcile
 * is stuck, and that the lease can be reached; a watch that is silently dead makes it unready, a watch that is being taken up again
 * does not. Live is true unless only a new process helps: the manager has failed, an informer was stopped by a bug, a
 * reconcile ignores its signal, or every worker of a controller is stuck.
 *
 * What does not move for longer than its bound is named here, always: who it is about, and what is the matter.
 */

import { resourceName } from '../../client/advanced.ts';
import { type AnyObject, type Informer, isApiError } from '../../client/index.ts';
import type { LeaderElector } from '../election/leader-elector.ts';
import type { ManagedController } from './managed-controller.ts';
import type { ControllerHealth, ErrorCount, InformerHealth, ManagerHealth, StuckReconcile } from './manager-options.ts';

export type HealthFacts = {
  readonly controllers: readonly ManagedController[];
  readonly elector: LeaderElector | undefined;
  readonly failure: { readonly error: unknown } | undefined;
  readonly errors: readonly ErrorCount[];
  readonly phase: 'new' | 'running' | 'stopping';
  readonly maxLagMs: number;
  readonly stuckAfterMs: number;
  /** How long a reconcile may go on after its signal. */
  readonly abortGraceMs: number;
  /** How long an election may go without its lease, or wait for work of its last term. */
  readonly electionMs: number;
};

/** `about` stays the same while `text` may count seconds. */
export type Problem = { readonly about: string; readonly text: string; readonly isFatal: boolean };

export function healthOf(facts: HealthFacts): ManagerHealth {
  const informers = informersOf(facts);
  const controllers = controllersOf(facts);
  const problems = problemsOf(facts, informers, controllers);
  return {
    isLive: !problems.some(({ isFatal }) => isFatal),
    isReady: problems.length === 0,
    informers,
    controllers,
    role: facts.elector?.role,
    errors: facts.errors,
    problems: problems.map(({ about, text }) => `${about}${text}`),
  };
}

/** All that keeps it from being live or ready. */
export function findProblems(facts: HealthFacts): Problem[] {
  return problemsOf(facts, informersOf(facts), controllersOf(facts));
}

function problemsOf(
  { controllers: managed, elector, failure, phase, electionMs }: HealthFacts,
  informers: readonly InformerHealth[],
  controllers: readonly ControllerHealth[],
): Problem[] {
  const problems: Problem[] = [];
  const add = (about: string, text: string, isFatal = false) => void problems.push({ about, text, isFatal });
  if (phase === 'new') add('the manager', ' has not started');
  if (phase === 'stopping') add('the manager', ' is stopping');
  if (failure) add('the manager', ` has failed: ${textOf(failure.error)}`, true);
  for (const { name, why, isReady, state } of informers)
    if (!isReady) add(`informer ${name}`, `: ${why}`, state === 'stopped' && phase === 'running');
  for (const [index, { name, stuck }] of controllers.entries()) {
    const isWhole = stuck.length >= managed[index]!.concurrency; // nothing of it moves any more
    for (const { key, runningMs, ignoresSignal } of stuck)
      add(
        `controller "${name}": reconcile of "${key}"`,
        ` has not ended for ${seconds(runningMs)}${ignoresSignal ? ', and ignores its signal' : ''}`,
        ignoresSignal || isWhole,
      );
  }
  if (elector && phase === 'running') {
    const about = `election "${elector.name}"`;
    const { unseenMs, blockedMs, lastError } = elector;
    if (unseenMs > electionMs)
      add(
        about,
        ` has not seen its lease for ${seconds(unseenMs)}${lastError === undefined ? '' : `: ${textOf(lastError)}`}`,
      );
    if (blockedMs > electionMs) add(about, ` waits for work of its last term, for ${seconds(blockedMs)}`, true);
  }
  return problems;
}

function informersOf({ controllers, maxLagMs, stuckAfterMs }: HealthFacts): InformerHealth[] {
  const users = new Map<Informer<AnyObject>, string[]>();
  for (const { name, informers } of controllers)
    for (const informer of informers) users.set(informer, [...(users.get(informer) ?? []), name]);
  return [...users].map(([informer, names]) => {
    const { state, lagMs, resourceVersion, error } = informer.freshness;
    const why = problemOf(informer, maxLagMs, stuckAfterMs);
    const name = resourceName(informer.resource);
    return { name, controllers: names, state, lagMs, resourceVersion, error, isReady: why === '', why };
  });
}

function controllersOf({ controllers, stuckAfterMs, abortGraceMs }: HealthFacts): ControllerHealth[] {
  return controllers.map((controller) => {
    const stuck: StuckReconcile[] = [];
    for (const { key, runningMs, firedMs, isAbandoned } of controller.running()) {
      const ignoresSignal = isAbandoned || (firedMs !== undefined && firedMs > abortGraceMs);
      if (ignoresSignal || runningMs > stuckAfterMs) stuck.push({ key, runningMs, ignoresSignal });
    }
    const { name, state, waitsFor } = controller;
    return { name, state, waitsFor, stuck };
  });
}

function problemOf(informer: Informer<AnyObject>, maxLagMs: number, stuckAfterMs: number): string {
  const { state, lagMs, error, busyMs } = informer.freshness;
  if (state === 'refused' && isApiError(error, 'NotFound'))
    return 'refused: the server does not serve it (is it installed?)';
  if (state === 'refused' || state === 'stopped' || state === 'syncing')
    return error === undefined ? state : `${state}: ${textOf(error)}`;
  if (lagMs !== undefined && lagMs > maxLagMs) return `silent for ${seconds(lagMs)}`;
  if (busyMs <= stuckAfterMs) return '';
  const stuck = informer.metrics.handlers.filter((handler) => handler.busyMs > stuckAfterMs);
  const names = stuck.map(({ name }) => `"${name}"`);
  return `handler ${names.join(', ')} has not ended for ${seconds(busyMs)}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
