import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { Scratch } from './scratch.ts';

const KEPT = 2;

it('lends so many buffers of its own, again and again, and then others that it does not keep', () => {
  const scratch = new Scratch(1024, KEPT);
  const own = [scratch.take(10), scratch.take(1024)];
  expect(own.map(({ length }) => length)).toEqual([1024, 1024]);
  const others = [scratch.take(1024), scratch.take(10), scratch.take(2000)];
  expect(others.every(({ length }, i) => length >= [1024, 10, 2000][i]!)).toBe(true);
  for (const buffer of [...others, ...own]) scratch.giveBack(buffer);
  const again = Array.from({ length: KEPT + 1 }, () => scratch.take(1024));
  expect(again.filter((buffer) => own.includes(buffer))).toHaveLength(KEPT);
  expect(again.some((buffer) => others.includes(buffer))).toBe(false);
});

it('what never comes back is made anew, once it is collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const scratch = new Scratch(1024, KEPT);
  const { stretchBytes } = scratch;
  for (let i = 0; i < KEPT; i++) scratch.take(1);
  expect(scratch.stretchBytes).toBeLessThan(stretchBytes);
  await eventually(() => {
    collect();
    expect(scratch.stretchBytes).toBe(stretchBytes);
  });
  expect(scratch.take(1).length).toBe(1024);
});
