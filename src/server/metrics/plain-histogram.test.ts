import { expect, it } from 'vitest';
import { makeMetrics } from './metrics.ts';
import { PlainHistogram, TimedRatio } from './plain-histogram.ts';

it('a plain histogram reads like any other', async () => {
  const histogram = new PlainHistogram([1, 5]);
  for (const value of [0, 1, 2, 9]) histogram.observe(value);
  const metrics = makeMetrics();
  const samples = () => histogram.samples({ a: 'x' });
  metrics.collected({ name: 'some_histogram', help: 'Some.', type: 'histogram', samples });
  const lines = (await metrics.text()).split('\n').filter((line) => line.includes('some_histogram'));
  expect(lines).toEqual([
    '# HELP some_histogram Some.',
    '# TYPE some_histogram histogram',
    'some_histogram_bucket{a="x",le="1"} 2',
    'some_histogram_bucket{a="x",le="5"} 3',
    'some_histogram_bucket{a="x",le="+Inf"} 4',
    'some_histogram_sum{a="x"} 12',
    'some_histogram_count{a="x"} 4',
  ]);
});

it('a timed ratio counts every nanosecond once', () => {
  let now = 0;
  const ratio = new TimedRatio([0, 0.5, 1], 4, () => now);
  now = 1;
  ratio.set(2);
  now = 3;
  ratio.set(2, 2);
  now = 4;
  const values = [...ratio.samples({})].map(({ value }) => value);
  expect(values).toEqual([1e9, 3e9, 4e9, 4e9, 2e9, 4e9]);
  expect([...ratio.samples({})].map(({ value }) => value)).toEqual(values);
});
