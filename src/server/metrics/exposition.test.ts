/** The text is what prom-client would write of the same metrics: those who scrape know no other. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { makeMetrics } from './metrics.ts';

const NASTY = 'a "quoted" \\ back\\nslash\nand a line';

it('metrics read as those of prom-client do, whatever is in their labels and help', async () => {
  const ours = makeMetrics();
  const before = (await ours.text()).split('\n\n').length;
  const registers = [new Registry()];
  const theirs = {
    counter: new Counter({ name: 'a_total', help: NASTY, labelNames: ['x', 'y'], registers }),
    gauge: new Gauge({ name: 'b', help: 'B.', labelNames: ['x'], registers }),
    bare: new Gauge({ name: 'bare', help: 'Bare.', registers }),
    unused: new Gauge({ name: 'unused', help: 'Never set.', labelNames: ['x'], registers }),
    histogram: new Histogram({ name: 'c_seconds', help: 'C.', buckets: [0.005, 2.5], labelNames: ['x'], registers }),
  };
  const counter = ours.counter('a_total', NASTY, ['x', 'y']);
  const gauge = ours.gauge('b', 'B.', ['x']);
  const bare = ours.gauge('bare', 'Bare.');
  ours.gauge('unused', 'Never set.', ['x']);
  const histogram = ours.histogram('c_seconds', 'C.', [0.005, 2.5], ['x']);
  for (const one of [counter, theirs.counter]) {
    one.inc({ x: NASTY, y: '' });
    one.inc({ x: 'naïve', y: '2' }, 1e21);
  }
  for (const one of [gauge, theirs.gauge]) {
    one.labels({ x: 'up' }).inc();
    one.labels({ x: 'up' }).inc(2);
    one.labels({ x: 'up' }).dec();
    one.labels({ x: 'most' }).set(Number.POSITIVE_INFINITY);
    one.labels({ x: 'least' }).set(Number.NEGATIVE_INFINITY);
    one.labels({ x: 'small' }).set(1.5e-9);
  }
  for (const one of [bare, theirs.bare]) one.set(3);
  for (const one of [histogram, theirs.histogram]) for (const value of [0.001, 1, 7]) one.observe({ x: 'h' }, value);
  const text = (await ours.text()).split('\n\n').slice(before).join('\n\n');
  expect(inOrder(text)).toEqual(inOrder(await registers[0]!.metrics()));
});

it('what is no number is called NaN, and a name is given once', async () => {
  const metrics = makeMetrics();
  metrics.gauge('odd', 'Odd.').set(Number.NaN);
  expect(await metrics.text()).toMatch(/^odd NaN$/m);
  expect(() => metrics.counter('odd', 'Again.')).toThrow('a metric "odd" is there already');
});

it('others have their turn while much is written, but not in the midst of a histogram', async () => {
  const metrics = makeMetrics();
  const histogram = metrics.histogram('h_seconds', 'H.', [1], ['x']);
  for (let i = 0; i < 20; i++) histogram.observe({ x: `${i}` }, 0);
  const { samples } = histogram;
  histogram.samples = function* () {
    for (const sample of samples.call(histogram)) {
      for (const until = performance.now() + 1; performance.now() < until; );
      yield sample;
    }
  };
  let turns = 0;
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    turns++;
    for (let i = 0; i < 20; i++) histogram.observe({ x: `${i}` }, 0);
    setImmediate(turn);
  };
  setImmediate(turn);
  const text = await metrics.text();
  isOver = true;
  expect(turns).toBeGreaterThan(5);
  const valuesOf = (suffix: string) =>
    [...text.matchAll(new RegExp(`^h_seconds_${suffix} (\\d+)$`, 'gm'))].map((m) => m[1]);
  expect(valuesOf('count\\{.*\\}')).toEqual(valuesOf('bucket\\{.*le="1"\\}'));
  expect(valuesOf('count\\{.*\\}')).toHaveLength(20);
});

/** In which order lines and labels come means nothing. No label here holds a comma. */
function inOrder(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').sort().join(',')}}`))
    .sort();
}
