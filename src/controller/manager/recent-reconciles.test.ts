import { expect, it } from 'vitest';
import { RecentReconciles } from './recent-reconciles.ts';

const outcome = { result: 'error', attempt: 1, durationMs: 2, causes: ['resync'] } as const;

it('keeps the last few hundred, the newest first, with texts that are short', () => {
  let now = 0;
  const recent = new RecentReconciles(() => now);
  expect(recent.newestFirst()).toEqual([]);
  for (now = 1; now <= 1000; now++)
    recent.note('web', { ...outcome, key: `k${now}`, error: new Error('x'.repeat(10_000)) });
  const all = recent.newestFirst();
  expect(all.length).toBe(300);
  expect([all[0]!.key, all.at(-1)!.key]).toEqual(['k1000', 'k701']);
  expect(all[0]).toMatchObject({ controller: 'web', endedAt: 1000, causes: ['resync'] });
  expect(all[0]!.error!.length).toBe(500);
});

it('an error that cannot be shown is no fault of the reconcile', () => {
  const recent = new RecentReconciles(() => 0);
  recent.note('web', { ...outcome, key: 'a', error: Object.create(null) });
  expect(recent.newestFirst()[0]).toMatchObject({ key: 'a', error: expect.any(String) });
});
