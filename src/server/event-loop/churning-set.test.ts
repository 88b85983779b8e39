import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { type ChurningMember, ChurningSet } from './churning-set.ts';

const member = (): ChurningMember => ({ slot: -1 });

it('what is under way is counted and visited until it leaves', () => {
  const open = new ChurningSet<ChurningMember>();
  const [a, b, c] = [member(), member(), member()];
  for (const one of [a, b, c, b]) open.add(one);
  expect(open.size).toBe(3);
  open.delete(a);
  open.delete(a);
  expect(new Set(open)).toEqual(new Set([b, c]));
  open.add(a);
  for (const one of open) open.delete(one);
  expect(open.size).toBe(0);
});

it('what has left is forgotten by quick collections', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
  const open = new ChurningSet<ChurningMember & { texts: string[] }>();
  const under: (ChurningMember & { texts: string[] })[] = [];
  collect();
  const before = oldBytes();
  for (let i = 0; i < 8000; i++) {
    const one = { slot: -1, texts: Array.from({ length: 100 }, (_, n) => `${i} ${n}`) };
    open.add(one);
    if (under.push(one) > 8) open.delete(under.shift()!);
    if (i % 50 === 0) collect({ type: 'minor' });
  }
  expect(oldBytes() - before).toBeLessThan(2 * 1024 * 1024);
});
