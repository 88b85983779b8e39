import { expect, it } from 'vitest';
import { SecondPeak } from './second-peak.ts';

it('tells the highest value of the last whole second, and forgets what did not change', () => {
  let now = 10.2;
  const peak = new SecondPeak(() => now);
  peak.change(1);
  peak.change(1);
  peak.change(-1);
  expect(peak.lastSecond).toBe(0); // the second is not over
  now = 11.5;
  expect(peak.lastSecond).toBe(2);
  peak.change(1);
  expect(peak.lastSecond).toBe(2);
  now = 12;
  expect(peak.lastSecond).toBe(2); // one was left, and one came
  now = 13;
  expect(peak.lastSecond).toBe(0); // both are still there
  now = 20;
  peak.change(-1);
  now = 21;
  expect(peak.lastSecond).toBe(1);
});
