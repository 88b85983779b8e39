import { expect, it } from 'vitest';
import { callTarget } from './call-target.ts';
import { TargetPools } from './target-pools.ts';

const targetOf = (i: number) => callTarget({ url: `https://h${i}/` });

/** A pool that says what was done to it. */
function poolThat(says: string[], name: string, closed: Promise<void> = Promise.resolve()) {
  return {
    close: () => {
      says.push(`${name} closes`);
      return closed;
    },
    destroy: async () => void says.push(`${name} is destroyed`),
  };
}

it('a pool is found again for the same place and the same trust only', () => {
  const pools = new TargetPools();
  const pool = pools.add(targetOf(1), poolThat([], 'a'));
  expect(pools.get(targetOf(1))).toBe(pool);
  expect(pools.get(targetOf(2))).toBe(undefined);
  expect(pools.get({ ...targetOf(1), skipsTlsVerify: true })).toBe(undefined);
  expect(pools.get({ ...targetOf(1), serverName: 'x' })).toBe(undefined);
});

it('the pool used longest ago is closed when there are too many, and destroyed with the others until it has gone', async () => {
  const says: string[] = [];
  const pools = new TargetPools();
  let gone = () => {};
  const closed = new Promise<void>((resolve) => {
    gone = resolve;
  });
  for (let i = 0; i < 128; i++) pools.add(targetOf(i), poolThat(says, `${i}`, i === 1 ? closed : undefined));
  pools.get(targetOf(0));
  expect(says).toEqual([]);
  pools.add(targetOf(128), poolThat(says, '128'));
  pools.add(targetOf(129), poolThat(says, '129'));
  expect(says).toEqual(['1 closes', '2 closes']);
  expect(pools.get(targetOf(1))).toBe(undefined);
  await Promise.resolve();
  await pools.destroy();
  expect(says).toContain('1 is destroyed');
  expect(says).not.toContain('2 is destroyed');
  expect(says).toHaveLength(2 + 128 + 1);
  gone();
});
