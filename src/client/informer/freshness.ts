/** How true an informer's store is, from the states of its watches: the worst of them counts. */

import type { Freshness, InformerState } from '../observing/informer-metrics.ts';
import type { Trouble } from '../reflector/reflector-options.ts';
import type { ReflectorState } from '../reflector/reflector-state.ts';

/** What a reflector tells of itself. */
type Watch = {
  readonly state: ReflectorState;
  readonly trouble: Trouble | undefined;
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
  const lagMs = contacts.includes(undefined) ? undefined : facts.now - Math.min(...(contacts as number[]));
  const troubles = facts.watches.map(({ trouble }) => trouble);
  // A refusal before anything else: it is what someone has to mend.
  const refusal = troubles.find((trouble) => trouble?.isRefusal);
  const trouble = refusal ?? troubles.find((one) => one !== undefined);
  return {
    state: stateOf(facts, refusal !== undefined),
    resourceVersion: facts.resourceVersion,
    lagMs,
    lastContact: lagMs === undefined ? undefined : new Date(Date.now() - lagMs),
    busyMs: facts.busyMs,
    error: facts.bug ?? trouble?.error,
  };
}

function stateOf({ watches, isStopped, isSynced }: FreshnessFacts, isRefused: boolean): InformerState {
  if (isStopped) return 'stopped';
  if (isRefused) return 'refused';
  if (!isSynced) return 'syncing';
  return watches.every(({ state }) => state.kind === 'watching' && state.isOpen) ? 'current' : 'interrupted';
}
