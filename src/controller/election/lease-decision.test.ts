import { expect, it } from 'vitest';
import { claimedLease, type Lease, newLease, releasedLease, renewedLease } from './lease.ts';
import {
  candidateWaitMs,
  DEFAULT_TIMINGS,
  hasExpired,
  NOTHING_SEEN,
  nextStep,
  type Observation,
  observe,
} from './lease-decision.ts';

const lease = (holder: string, resourceVersion: string, seconds = 15): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'boss', resourceVersion },
  spec: { holderIdentity: holder, leaseDurationSeconds: seconds },
});
const held = (holder: string, heldUntil: number): Observation => ({ lease: lease(holder, '1'), holder, heldUntil });

it.each<[claim: string, seen: Observation, now: number, want: string]>([
  ['creates a lease that is not there', NOTHING_SEEN, 0, 'create'],
  ['claims a lease that nobody holds', held('', -Infinity), 0, 'claim'],
  ['waits while another holds it', held('b', 10), 9, 'wait'],
  ['claims it when it has run out', held('b', 10), 10, 'claim'],
  ['claims its own without waiting', held('a', 10), 0, 'claim'],
  ['waits for the holder of a lease that was deleted', { ...held('b', 10), lease: undefined }, 9, 'wait'],
  ['creates it anew when that one must have noticed', { ...held('b', 10), lease: undefined }, 10, 'create'],
])('nextStep() %s', (_claim, seen, now, want) => expect(nextStep(seen, 'a', now).kind).toBe(want));

it.each<[claim: string, before: Observation, found: Lease | undefined, want: number]>([
  ['counts from the first look', NOTHING_SEEN, lease('b', '1'), 115_000],
  ['does not count anew while nothing changes', held('b', 10), lease('b', '1'), 10],
  ['counts anew with each change', held('b', 10), lease('b', '2'), 115_000],
  ['believes the holder about its duration', held('b', 10), lease('b', '2', 60), 160_000],
  ['takes its own duration where none is told', held('b', 10), lease('b', '2', 0), 107_000],
  ['waits for nobody once released', held('b', 10), lease('', '2', 1), -Infinity],
  ['remembers the holder of one that is gone', held('b', 10), undefined, 10],
])('observe() %s', (_claim, before, found, want) => {
  expect(observe(before, found, 7_000, 100_000).heldUntil).toBe(want);
});

it.each<[claim: string, now: number, wall: number, want: boolean]>([
  ['leads until just before the deadline', 9_999, 9_999, false],
  ['not at the deadline', 10_000, 10_000, true],
  ['not when only the wall clock went on', 1, 10_000, true],
  ['leads though the wall clock was set back', 9_999, -50_000, false],
])('hasExpired(): %s', (_claim, now, wall, want) => {
  const term = { token: { term: 0, resourceVersion: '1' }, askedAt: 0, wallAskedAt: 0 };
  expect(hasExpired(term, 10_000, now, wall)).toBe(want);
});

it.each<[claim: string, heldUntil: number, random: number, want: number]>([
  ['two seconds at least', -Infinity, 0, 2_000],
  ['and up to 1.2 times as long besides', 1e9, 1, 4_400],
  ['but is there when the lease runs out', 500, 0, 500],
  ['more or less', 500, 1, 700],
])('candidateWaitMs() is %s', (_claim, heldUntil, random, want) => {
  expect(candidateWaitMs(held('b', heldUntil), DEFAULT_TIMINGS, 0, random)).toBe(want);
});

it('what is written keeps what others wrote, and counts terms', () => {
  const first = newLease({ name: 'boss', namespace: 'x' }, 'a', 15_000, 1_234);
  expect(first.spec).toMatchObject({ leaseTransitions: 0, renewTime: '1970-01-01T00:00:01.234000Z' });
  const labelled = { ...first, metadata: { ...first.metadata, labels: { team: 'x' } } };
  const second = claimedLease(labelled, 'b', 15_000, 5_000);
  expect(second.metadata).toEqual(labelled.metadata);
  expect(second.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
  const third = renewedLease(second, 15_000, 6_000);
  expect(third.spec).toEqual({ ...second.spec, renewTime: '1970-01-01T00:00:06.000000Z' });
  expect(releasedLease(third, 7_000).spec).toMatchObject({
    holderIdentity: '',
    leaseDurationSeconds: 1,
    leaseTransitions: 1,
  });
});
