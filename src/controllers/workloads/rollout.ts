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
