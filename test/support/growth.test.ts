/** The judge itself: on a clock that counts steps, so that what it says depends on nothing but the work. */
import { expect, it } from 'vitest';
import { expectLinear, type GrowthOptions, growthOf, MOST_GROWTH } from './growth.ts';

const list = (size: number) => Array.from({ length: size }, (_, i) => i);

/** Work whose CPU time is what `steps` says of a size; `noise` is what one call takes more than it should. */
function work(steps: (size: number) => number, noise: (call: number) => number = () => 0): GrowthOptions<number[]> {
  let now = 0;
  let calls = 0;
  return {
    make: list,
    run: (numbers) => {
      now += (steps(numbers.length) + noise(calls++)) / 10_000;
    },
    cpuClock: () => now,
    from: 500,
    limit: 64_000,
  };
}

it('work that is linear in its input passes', async () => {
  await expectLinear(
    'a sum',
    work((n) => 20 * n),
  );
  await expectLinear(
    'a sort',
    work((n) => n * Math.log2(n)),
  );
});

it('work that is quadratic in its input is found', async () => {
  const { factor } = await growthOf(work((n) => n * n));
  expect(factor).toBeCloseTo(4);
  expect(factor).toBeGreaterThan(MOST_GROWTH);
  await expect(
    expectLinear(
      'a product',
      work((n) => n * n),
    ),
  ).rejects.toThrow(/a product grows faster than its input \(\d+: /);
});

it('a call that is disturbed does not make linear work look worse', async () => {
  await expectLinear(
    'a sum',
    work(
      (n) => 20 * n,
      (call) => (call % 3 === 0 ? 5_000_000 : 0),
    ),
  );
});

it('the clock of the process sees work that is done', async () => {
  const sum = (numbers: number[]) => numbers.reduce((total, n) => (total * 31 + n) % 1_000_003, 0);
  const { cpuMs } = await growthOf({ make: list, run: sum, from: 100_000, limit: 400_000 });
  expect(Math.max(...cpuMs)).toBeGreaterThan(0);
});
