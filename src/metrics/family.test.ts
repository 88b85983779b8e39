import { expect, it } from 'vitest';
import type { Definition } from './definitions.ts';
import { HistogramFamily, type Reading, ValueFamily } from './family.ts';

const counter: Definition = { type: 'counter', labels: ['resource', 'code'], help: 'help' };
const histogram: Definition = { type: 'histogram', labels: ['resource'], help: 'help', buckets: [0.1, 1] };
const nobody = () => {};

const total = ({ values }: Reading) => values.reduce((sum, { value }) => sum + value, 0);

it('labels without end are one series from the thousandth on, and no count is lost', async () => {
  const family = new ValueFamily('x_total', counter, nobody);
  for (let i = 0; i < 5000; i++) family.add({ resource: `made-up-${i}`, code: '200' }, 1);
  family.add({ resource: 'made-up-0', code: '200' }, 1); // what was there stays itself
  const reading = await family.get();
  expect(reading.values).toHaveLength(1001);
  expect(total(reading)).toBe(5001);
  expect(reading.values[0]).toEqual({ labels: { resource: 'made-up-0', code: '200' }, value: 2 });
  expect(reading.values[1000]).toEqual({ labels: { resource: 'other', code: 'other' }, value: 4000 });
});

it('label values that look alike when joined are different series', async () => {
  const family = new ValueFamily('x_total', counter, nobody);
  family.add({ resource: 'a', code: 'b' }, 1);
  family.add({ resource: 'ab', code: '' }, 1);
  family.add({ resource: '', code: 'ab' }, 1);
  expect((await family.get()).values).toHaveLength(3);
});

it('a histogram counts what is at or below each bound, and what is above all of them', async () => {
  const family = new HistogramFamily('x_seconds', histogram, nobody);
  for (const value of [0.1, 0.5, 1, 30]) family.observe({ resource: 'pods' }, value);
  expect((await family.get()).values).toEqual([
    { metricName: 'x_seconds_bucket', labels: { resource: 'pods', le: 0.1 }, value: 1 },
    { metricName: 'x_seconds_bucket', labels: { resource: 'pods', le: 1 }, value: 3 },
    { metricName: 'x_seconds_bucket', labels: { resource: 'pods', le: '+Inf' }, value: 4 },
    { metricName: 'x_seconds_sum', labels: { resource: 'pods' }, value: 31.6 },
    { metricName: 'x_seconds_count', labels: { resource: 'pods' }, value: 4 },
  ]);
});
