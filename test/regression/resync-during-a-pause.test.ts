/** An audit that finds a store wrong while its watch is between two streams must not be forgotten. */
import { expect, it } from 'vitest';
import { type Policy, type ReflectorState, transition } from '../../src/client/reflector/reflector-state.ts';

const policy: Policy = { minMs: 1, maxMs: 2, healthyMs: 1000, listBy: 'stream', random: 0 };
const watching = { kind: 'watching', version: '9', isOpen: false, isRotating: false, empty: 0, failures: 2 } as const;
const listing = { kind: 'listing', by: 'stream', failures: 2, minResourceVersion: '9' } as const;

it('a resync that is required during a pause is done after it', () => {
  const error = new Error('broken');
  const waiting: ReflectorState = { kind: 'waiting', delayMs: 5, error, isRefusal: false, next: watching };
  const resyncing = transition(waiting, { kind: 'resync-required' }, policy);
  expect(resyncing).toEqual({ ...waiting, next: listing });
  expect(transition(resyncing, { kind: 'backoff-elapsed' }, policy)).toEqual(listing);
  expect(transition(resyncing, { kind: 'resync-required' }, policy)).toBe(resyncing);
});

it('a resync that is required during a check is done at once, whatever the check finds', () => {
  const resyncing = transition({ kind: 'checking', version: '9', failures: 2 }, { kind: 'resync-required' }, policy);
  expect(resyncing).toEqual(listing);
  expect(transition(resyncing, { kind: 'checked', version: '9' }, policy)).toBe(resyncing);
});

it('a machine that slept through an audit fetches nothing anew for that: its streams have ended, and go on where they were', () => {
  const error = new Error('silence');
  const waiting: ReflectorState = { kind: 'waiting', delayMs: 5, error, isRefusal: false, next: watching };
  expect(transition(waiting, { kind: 'late' }, policy)).toBe(waiting);
});
