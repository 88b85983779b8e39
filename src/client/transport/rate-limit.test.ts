import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { RateLimiter } from './rate-limit.ts';

type Step = { readonly afterMs: number; readonly isUrgent: boolean; readonly givesUpAfterMs: number | undefined };

const step: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.nat(400),
  isUrgent: fc.boolean(),
  givesUpAfterMs: fc.option(fc.nat(500), { nil: undefined, freq: 3 }),
});

/** When each was sent; undefined if it was given up. */
async function sendAll(limit: { perSecond: number; burst: number }, steps: readonly Step[]) {
  const clock = new FakeClock();
  const limiter = new RateLimiter(limit, clock);
  const sent: { at: number | undefined; asked: number; isUrgent: boolean }[] = [];
  for (const { afterMs, isUrgent, givesUpAfterMs } of steps) {
    await clock.advance(afterMs);
    const one: (typeof sent)[number] = { at: undefined, asked: clock.now(), isUrgent };
    sent.push(one);
    const stop = new AbortController();
    if (givesUpAfterMs !== undefined) void clock.sleep(givesUpAfterMs).then(() => stop.abort());
    void limiter.take({ signal: stop.signal, isUrgent, onWait: () => {} }).then(
      () => {
        one.at = clock.now();
      },
      () => {}, // given up
    );
  }
  await clock.advance((steps.length / limit.perSecond) * 1000 + 1000);
  return sent;
}

it('no more are sent than the bucket holds and gains, in the order they came, and urgent ones never wait', async () => {
  const limit = fc.record({ perSecond: fc.constantFrom(1, 5, 20), burst: fc.integer({ min: 1, max: 4 }) });
  await fc.assert(
    fc.asyncProperty(limit, fc.array(step, { minLength: 1, maxLength: 25 }), async (limit, steps) => {
      const sent = await sendAll(limit, steps);
      const times = sent.filter(({ at, isUrgent }) => at !== undefined && !isUrgent).map(({ at }) => at!);
      for (const [first, from] of times.entries())
        for (let last = first; last < times.length; last++) {
          const gained = ((times[last]! - from) / 1000) * limit.perSecond;
          expect(last - first + 1).toBeLessThanOrEqual(limit.burst + gained + 1e-9);
        }
      expect(times).toEqual([...times].sort((a, b) => a - b));
      for (const { at, asked, isUrgent } of sent) if (isUrgent) expect(at).toBe(asked);
      // Whoever did not give up is sent.
      for (const [index, { givesUpAfterMs }] of steps.entries())
        if (givesUpAfterMs === undefined) expect(sent[index]!.at).toBeDefined();
    }),
    { numRuns: 100 },
  );
});

it('a turn that is given up is somebody else’s', async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter({ perSecond: 1, burst: 1 }, clock);
  const waits: number[] = [];
  const stop = new AbortController();
  const take = (signal: AbortSignal) =>
    limiter.take({ signal, isUrgent: false, onWait: (waitMs) => waits.push(waitMs) });
  const never = new AbortController().signal;
  await take(never);
  const given = take(stop.signal);
  stop.abort(new Error('changed my mind'));
  await expect(given).rejects.toThrow('changed my mind');
  void take(never);
  await clock.advance(0);
  expect(waits).toEqual([1000, 1000]);
});

it.each([
  { perSecond: 0, burst: 1 },
  { perSecond: Number.NaN, burst: 1 },
  { perSecond: Number.POSITIVE_INFINITY, burst: 1 },
  { perSecond: 1, burst: 0 },
])('%j is refused', (limit) => {
  expect(() => new RateLimiter(limit, new FakeClock())).toThrow('Cannot limit requests');
});
