import { expect, it } from 'vitest';
import { Pace } from './pace.ts';

const rule = { bytes: 100, stretchMs: 10 };

it.each<[what: string, looks: string, isKept: boolean]>([
  ['nothing moved, but the stretch is not over', '9:0', true],
  ['nothing moved in a whole stretch', '10:0', false],
  ['enough moved, late in the stretch', '12:100', true],
  ['too little moved', '10:99', false],
  ['a new stretch begins where enough has moved', '9:100 18:100', true],
  ['what moved in an earlier stretch does not count again', '9:500 19:599', false],
])('a pace: %s', (_what, looks, isKept) => {
  const pace = new Pace(0, 0);
  const kept = looks.split(' ').map((look) => {
    const [nowMs, bytes] = look.split(':').map(Number);
    return pace.isKept(nowMs!, bytes!, rule);
  });
  expect(kept.at(-1)).toBe(isKept);
});
