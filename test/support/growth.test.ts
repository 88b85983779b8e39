import { expect, it } from 'vitest';
import { expectLinear, growthOf, MOST_GROWTH } from './growth.ts';

const list = (size: number) => Array.from({ length: size }, (_, i) => i);
const sum = (numbers: number[]) => numbers.reduce((total, n) => (total * 31 + n) % 1_000_003, 0);

it('work that is linear in its input passes', async () => {
  await expectLinear('a sum', { make: list, run: sum, from: 100_000, limit: 6_400_000 });
});

it('work that is quadratic in its input is found', async () => {
  const run = (numbers: number[]) => {
    let found = 0;
    for (const a of numbers) for (const b of numbers) if (((a * b) & 7) === 3) found++;
    return found;
  };
  const growth = await growthOf({ make: list, run, from: 500, limit: 64_000 });
  expect(growth.factor).toBeGreaterThan(MOST_GROWTH);
  await expect(expectLinear('a product', { make: list, run, from: 500, limit: 64_000 })).rejects.toThrow(
    /a product grows faster than its input \(\d+: /,
  );
}, 120_000);
