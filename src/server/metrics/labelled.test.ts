import { expect, test } from 'vitest';
import { makeMetrics } from './metrics.ts';

test('a child counts where its labels are, and is found again by them', async () => {
  const metrics = makeMetrics();
  const counter = metrics.counter('things_total', 'Things.', ['kind', 'of']);
  const kept = counter.labels({ of: 'b', kind: 'a' });
  kept.inc();
  counter.inc({ kind: 'a', of: 'b' }, 2);
  counter.inc({ kind: 'a' });
  const text = await metrics.text();
  expect(text).toContain('# TYPE things_total counter');
  expect(text).toContain('things_total{kind="a",of="b"} 3');
  expect(text).toContain('things_total{kind="a"} 1');
});

test('what has no labels is there at zero; what has some, only once it was counted', async () => {
  const metrics = makeMetrics();
  metrics.counter('none_total', 'None.');
  metrics.histogram('none_seconds', 'None.', [1]);
  metrics.counter('some_total', 'Some.', ['of']);
  const text = await metrics.text();
  expect(text).toMatch(/^none_total 0$/m);
  expect(text).toMatch(/^none_seconds_count 0$/m);
  expect(text).not.toMatch(/^some_total/m);
});

test('a value counts in every bucket that it fits in, and in the sum', async () => {
  const metrics = makeMetrics();
  const histogram = metrics.histogram('took_seconds', 'Took.', [0.1, 1], ['of']);
  for (const seconds of [0.05, 0.5, 5]) histogram.observe({ of: 'x' }, seconds);
  const text = await metrics.text();
  expect(text).toContain('took_seconds_bucket{of="x",le="0.1"} 1');
  expect(text).toContain('took_seconds_bucket{of="x",le="1"} 2');
  expect(text).toContain('took_seconds_bucket{of="x",le="+Inf"} 3');
  expect(text).toContain('took_seconds_sum{of="x"} 5.55');
});
