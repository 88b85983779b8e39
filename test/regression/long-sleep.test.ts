/** An audit once a month is no audit a millisecond. */
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';

const DAY_MS = 24 * 3600 * 1000;

it('a sleep that is longer than a timer can be is as long as it was asked to be', async () => {
  vi.useFakeTimers();
  try {
    let isOver = false;
    const sleep = systemClock.sleep(60 * DAY_MS).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(60 * DAY_MS - 1);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await sleep;
    const stop = new AbortController();
    const other = systemClock.sleep(Number.POSITIVE_INFINITY, stop.signal);
    await vi.advanceTimersByTimeAsync(60 * DAY_MS);
    stop.abort(new Error('enough'));
    await expect(other).rejects.toThrow('enough');
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
