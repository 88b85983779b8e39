/** docs/scale.md is what its script makes of the figures that were measured, by the rates that the benchmark plays. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as shape from '../../bench/lib/cluster-shape.ts';
// @ts-expect-error: a script, which has no types
import { carried, demand, figuresFrom, rates, scalePage } from '../../scripts/scale.mjs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const figures = JSON.parse(read('bench/server/cluster/figures.json'));

it('docs/scale.md is what scripts/scale.mjs makes', () => {
  expect(read('docs/scale.md')).toBe(scalePage(figures));
});

it('the rates on it are those that are played', () => {
  const { pods, nodes } = shape.shapeFor(false, false);
  expect(rates).toEqual({
    podsPerNode: pods / nodes,
    churnPerPodSecond: shape.CHURN_PER_POD_SECOND,
    servedShare: shape.SERVED_SHARE,
    leaseSeconds: shape.LEASE_SECONDS,
    nodeStatusSeconds: shape.NODE_STATUS_SECONDS,
  });
});

it('work grows with the nodes, that of slices with their square', () => {
  const [one, two] = [demand(figures, 1000), demand(figures, 2000)];
  expect(two.shares.leases / one.shares.leases).toBeCloseTo(2);
  expect(two.sliceEvents / one.sliceEvents).toBeCloseTo(4);
  const most = carried(figures);
  expect(demand(figures, most).cores).toBeLessThanOrEqual(0.7);
  expect(demand(figures, most + 1).cores).toBeGreaterThan(0.7);
});

it('figures that the benchmark did not measure are asked for by name', () => {
  const bench = { date: '2026-01-01T00:00:00Z', node: 'v20', cpu: '', load: '0', serverRows: [] };
  expect(() => figuresFrom(bench)).toThrow('Cannot take the figures over: there is no row "nodes" in numbers');
});
