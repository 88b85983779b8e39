import { expect, it } from 'vitest';
import { Demand } from './demand.ts';

it('demand is weighted by how long it lasted, and the peak begins anew with each look', () => {
  let now = 100;
  const demand = new Demand(() => now);
  demand.set(4);
  now += 1;
  demand.set(0);
  now += 3;
  demand.set(2);
  expect(demand.look()).toEqual({ average: 1, deviation: Math.sqrt(3), highWatermark: 4 });
  expect(demand.smoothed).toBeCloseTo(1 + Math.sqrt(3));
  now += 10;
  expect(demand.look()).toEqual({ average: 2, deviation: 0, highWatermark: 2 });
});

it('the smoothed demand rises at once and halves in five minutes', () => {
  let now = 0;
  const demand = new Demand(() => now);
  demand.set(100);
  now += 10;
  demand.look();
  expect(demand.smoothed).toBeCloseTo(100);
  demand.set(0);
  for (let i = 0; i < 30; i++) {
    now += 10;
    demand.look();
  }
  expect(demand.smoothed).toBeGreaterThan(45);
  expect(demand.smoothed).toBeLessThan(55);
});

it('two looks in the same moment leave the smoothed demand as it is', () => {
  let now = 0;
  const demand = new Demand(() => now);
  demand.set(8);
  now += 1;
  demand.look();
  expect(demand.look()).toEqual({ average: 8, deviation: 0, highWatermark: 8 });
  expect(demand.smoothed).toBeCloseTo(8);
});
