/** How true an informer's store is, from the states of its watches: the worst of them counts. */

import { leastOf, wallNow } from '../../api/index.ts';
import type { Freshness, InformerState } from '../observing/informer-metrics.ts';
import type { LastError } from '../reflector/reflector-options.ts';
import type { ReflectorState } from '../reflector/reflector-state.ts';

/** What a reflector tells of itself. */
type Watch = {
  readonly state: ReflectorState;
  readonly lastError: LastError | undefined;
  readonly lastContact: number | undefined;
};

type FreshnessFacts = {
  readonly watches: readonly Watch[];
  readonly isStopped: boolean;
  /** What stopped it, if not its owner. */
  readonly bug: unknown;
  readonly isSynced: boolean;
  readonly resourceVersion: string | undefined;
  /** By the clock of `lastContact`. */
  readonly now: number;
  readonly busyMs: number;
};

export function freshnessOf(facts: FreshnessFacts): Freshness {
  const contacts = facts.watches.map(({ lastContact }) => lastContact);
  const lagMs = contacts.includes(undefined) ? undefined : facts.now - leastOf(contacts as number[]);
  const lastErrors = facts.watches.map(({ lastError }) => lastError);
  // A refusal before anything else: it is what someone has to mend.
  const refusal = lastErrors.find((lastError) => lastError?.isRefusal);
  const lastError = refusal ?? lastErrors.find((one) => one !== undefined);
  return {
    state: stateOf(facts, refusal !== undefined),
    resourceVersion: facts.resourceVersion,
    lagMs,
    lastContact: lagMs === undefined ? undefined : new Date(wallNow() - lagMs),
    busyMs: facts.busyMs,
    error: facts.bug ?? lastError?.error,
  };
}

function stateOf({ watches, isStopped, isSynced }: FreshnessFacts, isRefused: boolean): InformerState {
  if (isStopped) return 'stopped';
  if (isRefused) return 'refused';
  if (!isSynced) return 'syncing';
  return watches.every(({ state }) => state.kind === 'watching' && state.isOpen) ? 'current' : 'interrupted';
}
