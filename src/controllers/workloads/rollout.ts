/**
 * How a Deployment goes from old replica sets to a new one, as one pure decision taken again after every change.
 *
 * What is always true of its answer: nothing grows past `wanted + maxSurge` replicas in all, and nothing shrinks so far
 * that fewer than `wanted - maxUnavailable` could be available. What replica sets report is behind: one that was shrunk
 * a moment ago may still report those it had, and an old one may have more available than it knows. So none counts for
 * more available replicas than it is asked to have, and old replicas are missed as if all of them were available.
 */
export type Generation = { readonly name: string; readonly replicas: number; readonly available: number };

export type Rollout = {
  readonly wanted: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  readonly current: Generation;
  /** Oldest first: these go first. */
  readonly old: readonly Generation[];
};

/** How many replicas each should have next, by name. */
export function nextReplicas({ wanted, maxSurge, maxUnavailable, current, old }: Rollout): Map<string, number> {
  const oldTotal = sum(old.map(({ replicas }) => replicas));
  const room = Math.max(0, wanted + maxSurge - oldTotal - current.replicas);
  const grown = Math.min(wanted, current.replicas + room);
  const next = new Map([[current.name, grown]]);

  const needed = Math.max(0, wanted - maxUnavailable - Math.min(grown, current.available)); // of the old ones
  let removable = Math.max(0, oldTotal - needed);
  let spare = Math.max(0, sum(old.map(availableOf)) - needed);
  for (const generation of old) {
    const idle = Math.min(removable, generation.replicas - availableOf(generation)); // nobody misses these
    const spared = Math.min(removable - idle, spare, availableOf(generation));
    removable -= idle + spared;
    spare -= spared;
    next.set(generation.name, generation.replicas - idle - spared);
  }
  return next;
}

export type Share = {
  readonly name: string;
  readonly replicas: number;
  /** What it could grow to when all were scaled last. */
  readonly most: number;
  readonly createdMs: number;
};

/**
 * A Deployment that is scaled in the middle of a rollout: each generation gets a share as large as its own of what comes or
 * goes, and what cannot be shared out goes to the largest. Of two as large it is the younger that gets, and the older that gives.
 */
export function scaledReplicas(wanted: number, maxSurge: number, sets: readonly Share[]): Map<string, number> {
  const allowed = wanted > 0 ? wanted + maxSurge : 0;
  const change = allowed - sum(sets.map(({ replicas }) => replicas));
  const bySize = [...sets].sort(
    (a, b) => b.replicas - a.replicas || (change > 0 ? b.createdMs - a.createdMs : a.createdMs - b.createdMs),
  );
  const next = new Map<string, number>();
  let shared = 0;
  for (const { name, replicas, most } of bySize) {
    const left = change - shared;
    const exact = wanted === 0 ? -replicas : most > 0 ? Math.round((replicas * allowed) / most) - replicas : 0;
    const share = replicas === 0 ? 0 : change > 0 ? Math.min(exact, left) : change < 0 ? Math.max(exact, left) : 0;
    shared += share;
    next.set(name, replicas + share);
  }
  const [largest] = bySize;
  if (largest) next.set(largest.name, Math.max(0, next.get(largest.name)! + change - shared));
  return next;
}

/** A number, or a share of all such as `25%`, which is also the default. */
export function boundOf(value: number | string = '25%', wanted: number, round: (exact: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * wanted);
}

function availableOf({ replicas, available }: Generation): number {
  return Math.min(replicas, available);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
