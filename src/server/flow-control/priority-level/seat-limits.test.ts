import { expect, it } from 'vitest';
import { allocateSeats, type LevelDemand, type LevelShares, levelLimits } from './seat-limits.ts';

const level = (shares: number, lendablePercent: number, handSize?: number): LevelShares => ({
  shares,
  lendablePercent,
  handSize,
  isExempt: false,
});

const NAMES = [
  'catch-all',
  'global-default',
  'leader-election',
  'node-high',
  'system',
  'workload-high',
  'workload-low',
];
const SUGGESTED = [
  level(5, 0),
  level(20, 50, 6),
  level(10, 0, 4),
  level(40, 25, 6),
  level(30, 33, 6),
  level(40, 50, 6),
  level(100, 90, 6),
];
const EXEMPT: LevelShares = { shares: 0, lendablePercent: 0, isExempt: true };

it('the seats of 600 are divided as on kube-apiserver', () => {
  const limits = levelLimits(600, [...SUGGESTED, EXEMPT]);
  expect(limits.map(({ nominal, min, max }) => `${nominal}/${min}/${max}`)).toEqual([
    ...['13/13/613', '49/24/649', '25/25/625', '98/73/698', '74/50/674', '98/49/698', '245/24/845'],
    '0/0/600',
  ]);
  expect(limits.map(({ maxSeats }) => maxSeats)).toEqual([undefined, 8, 4, 15, 12, 15, 37, undefined]);
});

it('the seats of 60 are divided as on kube-apiserver', () => {
  const limits = levelLimits(60, [...SUGGESTED, EXEMPT]);
  expect(limits.slice(0, 7).map(({ nominal, min }) => `${nominal}/${min}`)).toEqual([
    ...['2/2', '5/2', '3/3', '10/7', '8/5', '10/5', '25/2'],
  ]);
});

type Asked = Partial<Record<string, { highWatermark: number; smoothed: number }>>;

function demands(asked: Asked, exempt = 0, total = 600): LevelDemand[] {
  const limits = levelLimits(total, [...SUGGESTED, EXEMPT]);
  return limits.map((of, i) => ({
    limits: of,
    isExempt: i === 7,
    highWatermark: i === 7 ? exempt : 0,
    smoothed: 0,
    ...asked[NAMES[i]!],
  }));
}

const busy: Asked = Object.fromEntries(NAMES.map((name) => [name, { highWatermark: 1000, smoothed: 1000 }]));

it.each<[string, Asked, number, number[], number | undefined]>([
  ['idle', {}, 0, [30, 56, 58, 170, 117, 114, 56], 602 / 258],
  [
    'one level busy',
    { 'workload-low': { highWatermark: 400, smoothed: 300 } },
    0,
    [15, 27, 28, 82, 56, 55, 338],
    1.12734,
  ],
  [
    'another busy',
    { 'global-default': { highWatermark: 200, smoothed: 200 } },
    0,
    [18, 277, 35, 101, 69, 68, 33],
    undefined,
  ],
  ['all busy, exempt requests too', busy, 10, [13, 48, 25, 97, 73, 97, 239], 0],
])('seats are lent and borrowed as on kube-apiserver: %s', (_claim, asked, exempt, want, fraction) => {
  const { seats, fairFraction } = allocateSeats(demands(asked, exempt));
  expect(seats?.slice(0, 7)).toEqual(want);
  expect(seats?.[7]).toBe(exempt);
  if (fraction !== undefined) expect(fairFraction).toBeCloseTo(fraction, 4);
});

it('when exempt requests use everything, levels keep what they never lend', () => {
  const { seats } = allocateSeats(demands(busy, 1000));
  expect(seats?.slice(0, 7)).toEqual([13, 24, 25, 73, 50, 49, 24]);
});

it('no level has less than it keeps or more than it may borrow, whatever is asked', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  for (let round = 0; round < 100; round++) {
    const levels = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, i) => ({
      shares: Math.floor(random() * 50),
      lendablePercent: Math.floor(random() * 101),
      borrowingLimitPercent: random() < 0.5 ? undefined : Math.floor(random() * 200),
      isExempt: i === 0,
      handSize: 4,
    }));
    const limits = levelLimits(1 + Math.floor(random() * 1000), levels);
    const asked = limits.map((of, i) => {
      const highWatermark = Math.floor(random() * 300);
      return { limits: of, isExempt: i === 0, highWatermark, smoothed: random() * highWatermark };
    });
    const { seats } = allocateSeats(asked);
    seats?.forEach((count, i) => {
      expect(Number.isInteger(count)).toBe(true);
      expect(count).toBeGreaterThanOrEqual(limits[i]!.min);
      if (i > 0) expect(count).toBeLessThanOrEqual(limits[i]!.max);
    });
  }
});
