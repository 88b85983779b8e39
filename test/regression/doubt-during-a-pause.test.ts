/** An audit that finds a store wrong while its watch is between two streams must not be forgotten. */
import { expect, it } from 'vitest';
import { type Policy, type ReflectorState, transition } from '../../src/client/reflector/reflector-state.ts';

const policy: Policy = { minMs: 1, maxMs: 2, healthyMs: 1000, fillBy: 'stream', random: 0 };
const watching = { kind: 'watching', version: '9', isOpen: false, isRotating: false, empty: 0, failures: 2 } as const;
const filling = { kind: 'filling', by: 'stream', failures: 2, floor: '9' } as const;

it('what is doubted during a pause is fetched anew after it', () => {
  const error = new Error('broken');
  const waiting: ReflectorState = { kind: 'waiting', delayMs: 5, error, isRefusal: false, next: watching };
  const doubted = transition(waiting, { kind: 'doubted' }, policy);
  expect(doubted).toEqual({ ...waiting, next: filling });
  expect(transition(doubted, { kind: 'rested' }, policy)).toEqual(filling);
  expect(transition(doubted, { kind: 'doubted' }, policy)).toBe(doubted);
});

it('what is doubted during a check is fetched anew at once, whatever the check finds', () => {
  const doubted = transition({ kind: 'checking', version: '9', failures: 2 }, { kind: 'doubted' }, policy);
  expect(doubted).toEqual(filling);
  expect(transition(doubted, { kind: 'checked', version: '9' }, policy)).toBe(doubted);
});
