/**
 * The chain from the store to its clients, laid out: which caches and clients are worth a place, what joins them, and where
 * revisions lie on the band. Pure: the view only draws it.
 *
 * Places on the band are by how far behind the head they are, on a logarithmic scale: a watcher that is ten behind and one
 * that is a million behind are both to be seen.
 */
import { greatestOf } from '../../api/extremes.ts';
import type { Lists } from './cluster-sampler.ts';
import { resourceName, type Watch, type WatchCache } from './inside.ts';

const MAX_CACHES = 12;
const MAX_CLIENTS = 14;

export type ClientNode = {
  readonly id: string;
  readonly agent: string;
  readonly user: string;
  readonly watches: readonly Watch[];
  readonly worst: string;
};

export type Chain = {
  readonly head: number;
  readonly caches: readonly WatchCache[];
  readonly hiddenCaches: number;
  readonly clients: readonly ClientNode[];
  readonly hiddenClients: number;
  readonly edges: readonly {
    readonly cache: string;
    readonly client: string;
    readonly state: string;
    readonly count: number;
  }[];
};

export function chainOf({ watches, caches }: Pick<Lists, 'watches' | 'caches'>): Chain {
  const head = Math.max(0, greatestOf(caches.map(({ status }) => status.revision)));
  const byUse = [...caches].sort(
    (a, b) =>
      b.status.watchers - a.status.watchers ||
      b.status.eventsPerSecond - a.status.eventsPerSecond ||
      b.status.objects - a.status.objects,
  );
  const shown = byUse.filter(({ status }, i) => i < 3 || status.watchers > 0 || status.eventsPerSecond > 0);
  const kept = shown.slice(0, MAX_CACHES);
  const clients = clientsOf(watches);
  return {
    head,
    caches: kept,
    hiddenCaches: caches.length - kept.length,
    clients: clients.slice(0, MAX_CLIENTS),
    hiddenClients: Math.max(0, clients.length - MAX_CLIENTS),
    edges: edgesOf(clients.slice(0, MAX_CLIENTS), new Set(kept.map(({ metadata }) => metadata.name))),
  };
}

/** From 0, the oldest that can be asked for, to 1, the head. */
export function placeOf(revision: number, oldest: number, head: number): number {
  const span = Math.log1p(Math.max(1, head - oldest));
  return 1 - Math.min(1, Math.log1p(Math.max(0, head - revision)) / span);
}

/** The worst state is the one that is shown. */
const STATES = ['Live', 'Initial', 'FromLog', 'Behind'];

export function worstOf(states: readonly string[]): string {
  return states.reduce((worst, state) => (STATES.indexOf(state) > STATES.indexOf(worst) ? state : worst), 'Live');
}

function clientsOf(watches: readonly Watch[]): ClientNode[] {
  const groups = new Map<string, Watch[]>();
  for (const watch of watches) {
    const { user, userAgent = '', address = '' } = watch.spec;
    const id = `${agentOf(userAgent)} ${user} ${address}`;
    groups.set(id, [...(groups.get(id) ?? []), watch]);
  }
  return [...groups]
    .map(([id, all]) => ({
      id,
      agent: agentOf(all[0]!.spec.userAgent ?? ''),
      user: all[0]!.spec.user,
      watches: all,
      worst: worstOf(all.map(({ status }) => status.state)),
    }))
    .sort((a, b) => STATES.indexOf(b.worst) - STATES.indexOf(a.worst) || b.watches.length - a.watches.length);
}

function edgesOf(clients: readonly ClientNode[], caches: ReadonlySet<string>): Chain['edges'] {
  return clients.flatMap(({ id, watches }) => {
    const byCache = new Map<string, Watch[]>();
    for (const watch of watches) {
      const name = resourceName(watch.spec);
      if (caches.has(name)) byCache.set(name, [...(byCache.get(name) ?? []), watch]);
    }
    return [...byCache].map(([cache, all]) => ({
      cache,
      client: id,
      count: all.length,
      state: worstOf(all.map(({ status }) => status.state)),
    }));
  });
}

/** `kubectl/v1.36.0 (linux/amd64) ...` is kubectl. */
function agentOf(userAgent: string): string {
  return userAgent.split(/[/ ]/, 1)[0] || 'unknown';
}
