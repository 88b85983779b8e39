import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../testing/clocks/fake-clock.ts';
import { Leases } from './leases.ts';

let clock: FakeClock;
let leases: Leases;
beforeEach(() => {
  clock = new FakeClock();
  leases = new Leases(clock);
});

const ALL = Number.POSITIVE_INFINITY;
const refusal = (code: string) => expect.objectContaining({ name: 'StoreError', code });

describe('a lease', () => {
  it('ends when its time has passed, and not a moment before', async () => {
    leases.add(1n, 10);
    await clock.advance(9_999);
    expect(leases.expired(ALL)).toEqual([]);
    await clock.advance(1);
    expect(leases.expired(ALL)).toEqual([1n]);
  });

  it('kept alive starts anew', async () => {
    leases.add(1n, 10);
    await clock.advance(9_000);
    expect(leases.keepAlive(1n)).toBe(10);
    await clock.advance(9_999);
    expect(leases.expired(ALL)).toEqual([]);
    await clock.advance(1);
    expect(leases.expired(ALL)).toEqual([1n]);
  });

  it('that is not there is not kept alive', () => {
    expect(leases.keepAlive(1n)).toBe(0);
    expect(() => leases.mustHave(1n)).toThrow(refusal('LeaseNotFound'));
  });

  it('tells whole seconds that remain, without the one that has begun, and never below zero', async () => {
    leases.add(1n, 10);
    const remaining: number[] = [];
    for (const ms of [0, 1, 998, 1, 8_999, 1, 5_000]) {
      await clock.advance(ms);
      remaining.push(leases.remainingSeconds(leases.get(1n)!));
    }
    expect(remaining).toEqual([10, 9, 9, 9, 0, 0, 0]);
  });
});

describe('expired leases', () => {
  it('come the longest overdue first, at most as many as asked for', async () => {
    leases.add(1n, 30);
    leases.add(2n, 10);
    leases.add(3n, 20);
    leases.add(4n, 99);
    await clock.advance(60_000);
    expect(leases.expired(ALL)).toEqual([2n, 3n, 1n]);
    expect(leases.expired(2)).toEqual([2n, 3n]);
    leases.remove(2n);
    expect(leases.expired(ALL)).toEqual([3n, 1n]);
  });
});

describe('what is asked for', () => {
  it.each([
    [-5, 2],
    [0, 2],
    [1, 2],
    [2, 2],
    [3, 3],
    [9_000_000_000, 9_000_000_000],
  ])('%i seconds become %i', (asked, granted) => expect(leases.ttlFor(asked)).toBe(granted));

  it.each([9_000_000_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('%s seconds are refused', (asked) => {
    expect(() => leases.ttlFor(asked)).toThrow(refusal('InvalidArgument'));
  });

  it('an id is granted once, and none outside of 63 bits', () => {
    expect(leases.idFor(7n)).toBe(7n);
    leases.add(7n, 10);
    expect(() => leases.idFor(7n)).toThrow(refusal('LeaseExists'));
    expect(leases.idFor(2n ** 63n - 1n)).toBe(2n ** 63n - 1n);
    for (const id of [-1n, 2n ** 63n]) expect(() => leases.idFor(id)).toThrow(refusal('InvalidArgument'));
  });

  it('without an id, a free one of 63 bits is found', () => {
    for (let i = 0; i < 200; i++) {
      const id = leases.idFor(i % 2 ? undefined : 0n);
      expect(id > 0n && id < 2n ** 63n).toBe(true);
      leases.add(id, 10);
    }
    expect(leases.size).toBe(200);
    expect(leases.ids()).toEqual([...leases.ids()].sort((a, b) => (a < b ? -1 : 1)));
  });
});

describe('keys', () => {
  it('go with one lease at a time', () => {
    leases.add(1n, 10);
    leases.add(2n, 10);
    leases.move('a', 0n, 1n);
    leases.move('a', 1n, 2n);
    leases.move('b', 0n, 2n);
    leases.move('b', 2n, 2n);
    expect([...leases.get(1n)!.keys]).toEqual([]);
    expect([...leases.get(2n)!.keys]).toEqual(['a', 'b']);
    leases.move('a', 2n, 0n);
    expect([...leases.get(2n)!.keys]).toEqual(['b']);
  });

  it('leave a lease that is gone without a trace', () => {
    leases.add(1n, 10);
    leases.move('a', 0n, 1n);
    leases.remove(1n);
    leases.move('a', 1n, 0n);
    leases.add(1n, 10);
    expect([...leases.get(1n)!.keys]).toEqual([]);
  });
});
