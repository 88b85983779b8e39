/** How true an informer's store is, from the states of its watches: the worst of them counts. */
import type { ReflectorState } from '../reflector/reflector-state.ts';
import type { Freshness, InformerState } from './informer-options.ts';

type FreshnessFacts = {
  readonly reflectors: readonly { readonly state: ReflectorState; readonly lastContact: number | undefined }[];
  readonly isStopped: boolean;
  /** What stopped it, if not its owner. */
  readonly bug: unknown;
  readonly isSynced: boolean;
  readonly resourceVersion: string | undefined;
  /** By the clock of `lastContact`. */
  readonly now: number;
};

export function freshnessOf(facts: FreshnessFacts): Freshness {
  const states = facts.reflectors.map(({ state }) => state);
  const contacts = facts.reflectors.map(({ lastContact }) => lastContact);
  const lagMs = contacts.includes(undefined) ? undefined : facts.now - Math.min(...(contacts as number[]));
  return {
    state: stateOf(states, facts),
    resourceVersion: facts.resourceVersion,
    lagMs,
    lastContact: lagMs === undefined ? undefined : new Date(Date.now() - lagMs),
    error: facts.bug ?? errorOf(states),
  };
}

function stateOf(states: readonly ReflectorState[], { isStopped, isSynced }: FreshnessFacts): InformerState {
  if (isStopped) return 'stopped';
  if (states.some((state) => state.kind === 'waiting' && state.isRefusal)) return 'refused';
  if (!isSynced) return 'syncing';
  return states.every((state) => state.kind === 'watching' && state.isOpen) ? 'current' : 'interrupted';
}

/** A refusal before anything else: it is what someone has to mend. */
function errorOf(states: readonly ReflectorState[]): unknown {
  const waiting = states.filter((state) => state.kind === 'waiting');
  return (waiting.find(({ isRefusal }) => isRefusal) ?? waiting.find(({ error }) => error !== undefined))?.error;
}
