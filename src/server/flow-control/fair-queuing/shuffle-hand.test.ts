import { expect, it } from 'vitest';
import { dealHand, flowHash, HandMemory } from './shuffle-hand.ts';

it.each([
  ['global-default', 'alice', 0xf4de3bd42ccdf6b7n, 128, 6, [55, 62, 126, 125, 105, 1]],
  ['service-accounts', 'system:serviceaccount:default:app', 0x6176412c797c854an, 128, 6, [74, 99, 34, 96, 60, 101]],
  ['system-nodes', 'system:node:n1', 0x7c71ae117bf78d24n, 64, 6, [36, 37, 40, 20, 55, 27]],
  ['kube-scheduler', '', 0x65449dc4908c79fen, 128, 6, [126, 90, 79, 41, 39, 53]],
  ['system-leader-election', 'system:kube-scheduler', 0xa1c9014d05411b2an, 16, 4, [10, 15, 8, 13]],
])('the flow %s of %s has the hash and the hand of kube-apiserver', (schema, user, hash, queues, size, hand) => {
  expect(flowHash(schema, user)).toBe(hash);
  expect(dealHand(hash, queues, size)).toEqual(hand);
  const memory = new HandMemory(queues, size);
  expect(memory.handOf(schema, user)).toEqual(hand);
  expect(memory.handOf(schema, user)).toBe(memory.handOf(schema, user));
});

it('a hand holds different queues of the deck, whatever the hash', () => {
  for (const [queues, size] of [
    [1, 1],
    [8, 8],
    [128, 6],
    [10_000_000, 2],
    [3, 7],
  ] as const)
    for (let i = 0; i < 50; i++) {
      const hand = dealHand(flowHash('schema', `user-${i}`), queues, size);
      expect(hand).toHaveLength(Math.min(size, queues));
      expect(new Set(hand).size).toBe(hand.length);
      for (const card of hand) expect(card >= 0 && card < queues).toBe(true);
    }
});

it('invented users do not fill the memory of hands', () => {
  const memory = new HandMemory(64, 6);
  const first = memory.handOf('schema', 'user-0');
  for (let i = 1; i <= 5000; i++) memory.handOf('schema', `user-${i}`);
  expect(memory.handOf('schema', 'user-0')).not.toBe(first);
  expect(memory.handOf('schema', 'user-0')).toEqual(first);
});
