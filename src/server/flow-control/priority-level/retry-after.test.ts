import { expect, it } from 'vitest';
import { RetryAfter } from './retry-after.ts';

it('Retry-After rises and falls as on kube-apiserver', () => {
  const retryAfter = new RetryAfter();
  const seen: string[] = [];
  const drops: [number, number][] = [
    ...([
      [100, 3],
      [101, 1],
      [102, 10],
      [103, 1],
      [104, 20],
      [105, 20],
      [106, 20],
    ] as [number, number][]),
    ...([
      [107, 20],
      [108, 1],
      [130, 1],
      [131, 1],
      [132, 1],
      [133, 1],
    ] as [number, number][]),
  ];
  for (const [second, count] of drops) {
    const told = new Set(Array.from({ length: count }, () => retryAfter.drop(second)));
    seen.push(`${second}: ${[...told].join(' ')}`);
  }
  expect(seen).toEqual([
    ...['100: 1', '101: 2', '102: 2', '103: 4', '104: 4', '105: 4', '106: 4', '107: 8', '108: 8'],
    ...['130: 7', '131: 6', '132: 5', '133: 4'],
  ]);
});

it('fifteen drops a second for two minutes reach the longest wait and stay there', () => {
  const retryAfter = new RetryAfter();
  const rises: number[] = [];
  for (let second = 0, last = 1; second < 120; second++) {
    for (let i = 0; i < 15; i++) retryAfter.drop(second);
    if (retryAfter.seconds !== last) rises.push(second);
    last = retryAfter.seconds;
  }
  expect(rises).toEqual([1, 3, 7, 15, 31]);
  expect(retryAfter.seconds).toBe(32);
});
