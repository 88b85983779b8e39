/** The rollout of the mini control plane's Deployments: one decision, taken again and again until all is new. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  boundOf,
  type Generation,
  nextReplicas,
  type Share,
  scaledReplicas,
} from '../../../src/controllers/workloads/rollout.ts';

const one = (name: string, replicas: number, available: number): Generation => ({ name, replicas, available });

it.each<[claim: string, wanted: number, surge: number, unavailable: number, now: Generation[], next: number[]]>([
  ['grows by the surge', 3, 1, 0, [one('new', 0, 0), one('old', 3, 3)], [1, 3]],
  ['takes from the old what the new has', 3, 1, 0, [one('new', 1, 1), one('old', 3, 3)], [1, 2]],
  ['waits for the new', 3, 1, 0, [one('new', 1, 0), one('old', 3, 3)], [1, 3]],
  ['begins with the old without a surge', 3, 0, 1, [one('new', 0, 0), one('old', 3, 3)], [0, 2]],
  ['fills the gap that leaves', 3, 0, 1, [one('new', 0, 0), one('old', 2, 2)], [1, 2]],
  ['scales up at once where nothing is old', 5, 1, 0, [one('new', 2, 2)], [5]],
  ['scales down at once where nothing is old', 2, 1, 0, [one('new', 5, 5)], [2]],
  ['removes the oldest first', 2, 0, 1, [one('new', 0, 0), one('older', 1, 1), one('old', 1, 1)], [0, 0, 1]],
  ['does not believe in replicas that were taken away', 3, 1, 0, [one('new', 1, 1), one('old', 2, 3)], [2, 2]],
  ['does not bring back what was taken away', 4, 1, 0, [one('new', 1, 1), one('old', 1, 2)], [4, 1]],
  ['goes on from a broken one as soon as something works', 2, 1, 0, [one('new', 1, 1), one('bad', 2, 0)], [1, 1]],
])('%s', (_claim, wanted, maxSurge, maxUnavailable, [current, ...old], next) => {
  const plan = nextReplicas({ wanted, maxSurge, maxUnavailable, current: current!, old });
  expect([current!, ...old].map(({ name }) => plan.get(name))).toEqual(next);
});

const share = (name: string, replicas: number, most: number, createdMs: number): Share => ({
  ...{ name, replicas, most, createdMs },
});

it.each<[claim: string, wanted: number, surge: number, sets: Share[], next: number[]]>([
  ['what comes is shared out', 20, 3, [share('old', 8, 13, 1), share('new', 5, 13, 2)], [14, 9]],
  ['what goes is taken from all', 5, 2, [share('old', 8, 13, 1), share('new', 5, 13, 2)], [4, 3]],
  ['what cannot be shared goes to the largest', 11, 3, [share('old', 8, 13, 1), share('new', 5, 13, 2)], [9, 5]],
  ['of two as large the younger gets', 7, 0, [share('old', 3, 6, 1), share('new', 3, 6, 2)], [3, 4]],
  ['of two as large the older gives', 5, 0, [share('old', 3, 6, 1), share('new', 3, 6, 2)], [2, 3]],
  ['nothing is left of all', 0, 3, [share('old', 8, 13, 1), share('new', 5, 13, 2)], [0, 0]],
  ['nobody knows what there was before', 10, 0, [share('old', 4, 0, 1), share('new', 1, 0, 2)], [9, 1]],
])('scaled during a rollout, %s', (_claim, wanted, maxSurge, sets, next) => {
  const sizes = scaledReplicas(wanted, maxSurge, sets);
  expect(sets.map(({ name }) => sizes.get(name))).toEqual(next);
});

it.each<[value: number | string | undefined, wanted: number, up: number, down: number]>([
  [undefined, 10, 3, 2],
  ['25%', 4, 1, 1],
  ['100%', 3, 3, 3],
  [2, 100, 2, 2],
  [0, 5, 0, 0],
])('a bound of %s of %i is %i rounded up, %i rounded down', (value, wanted, up, down) => {
  expect([boundOf(value, wanted, Math.ceil), boundOf(value, wanted, Math.floor)]).toEqual([up, down]);
});

/** A replica set as it really is, and as it reported itself a while ago. */
type Set = { name: string; replicas: number; ready: number; reported: number };

it('whatever is late, bounds hold at every step, and in the end all is new', () => {
  const situation = fc.record({
    wanted: fc.integer({ min: 1, max: 8 }),
    surge: fc.nat(3),
    unavailable: fc.nat(3),
    old: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
    luck: fc.array(fc.nat(99), { minLength: 40, maxLength: 40 }),
  });
  fc.assert(
    fc.property(situation, ({ wanted, surge, unavailable, old, luck }) => {
      const maxUnavailable = surge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, wanted);
      const sets: Set[] = old.map((replicas, number) => ({
        name: `old-${number}`,
        replicas,
        ready: replicas,
        reported: replicas,
      }));
      const current: Set = { name: 'new', replicas: 0, ready: 0, reported: 0 };
      const all = [...sets, current];
      const ready = () => all.reduce((sum, set) => sum + set.ready, 0);
      const total = () => all.reduce((sum, set) => sum + set.replicas, 0);
      const floor = () => Math.min(wanted - maxUnavailable, lowest);
      const ceiling = Math.max(wanted + surge, total());
      let lowest = ready(); // it cannot be expected to have more than it began with, until it has
      for (let step = 0; step < 400; step++) {
        // Pods become ready, and reports arrive, now and then.
        const chance = luck[step % luck.length]! + (step > 300 ? 100 : 0);
        for (const set of all) {
          if (chance % 3 === 0 || step > 300) set.ready = Math.min(set.replicas, set.ready + 1);
          if (chance % 2 === 0 || step > 300) set.reported = set.ready;
        }
        lowest = Math.max(lowest, Math.min(ready(), wanted - maxUnavailable));
        const seen = ({ name, replicas, reported }: Set) => ({ name, replicas, available: reported });
        const plan = nextReplicas({
          wanted,
          maxSurge: surge,
          maxUnavailable,
          current: seen(current),
          old: sets.map(seen),
        });
        for (const set of all) {
          set.replicas = plan.get(set.name)!;
          set.ready = Math.min(set.ready, set.replicas); // what is not ready goes first
        }
        expect(ready()).toBeGreaterThanOrEqual(floor());
        expect(total()).toBeLessThanOrEqual(ceiling);
      }
      expect(all.map(({ replicas }) => replicas)).toEqual([...sets.map(() => 0), wanted]);
    }),
    { numRuns: 100 },
  );
});
