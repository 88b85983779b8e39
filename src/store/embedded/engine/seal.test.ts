import { describe, expect, it } from 'vitest';
import { randomFrom } from '../../../../test/support/random.ts';
import type { EngineCommit, LogPosition } from './engine.ts';
import { decodeSeal, encodeSeal, newSeal, SEAL_BYTES, type Seal, sealAfter, Tally } from './seal.ts';

const nothing: EngineCommit = { append: [], remove: [], meta: new Map(), leases: new Map() };
const record = Buffer.from('record');
const append = (...revisions: number[]): EngineCommit => ({
  ...nothing,
  append: revisions.map((revision) => ({ revision, sub: 0, record })),
});
const sealOf = (seal: Seal, commit: EngineCommit, leases = new Map<bigint, number>()) =>
  sealAfter(seal, commit, leases);

describe('a seal', () => {
  it('comes to the same whatever way the log came to hold what it holds', () => {
    const random = randomFrom(3);
    const there = new Map<string, LogPosition>();
    let seal = newSeal();
    for (let revision = 2; revision < 500; revision++) {
      const entries = [0, 1, 2].slice(0, 1 + Math.floor(random() * 3)).map((sub) => ({ revision, sub, record }));
      const remove = [...there.values()].filter(() => random() < 0.02);
      seal = sealOf(seal, { ...nothing, append: entries, remove });
      for (const entry of entries) there.set(`${entry.revision}/${entry.sub}`, entry);
      for (const { revision: gone, sub } of remove) there.delete(`${gone}/${sub}`);
    }
    const tally = new Tally();
    for (const { revision, sub } of [...there.values()].reverse()) tally.addRecord(revision, sub);
    expect([seal.records, seal.sum, seal.revision]).toEqual([there.size, tally.sum, 499]);
  });

  it.each<[what: string, a: EngineCommit, b: EngineCommit]>([
    ['a record', append(2, 3), append(2)],
    ['a place', append(2, 3), append(2, 4)],
    ['a place beyond 32 bits', append(2 ** 32 + 7), append(2 ** 33 + 7)],
    ['two places whose numbers come to the same', append(2, 5), append(3, 4)],
    ['a lease', { ...nothing, leases: new Map([[7n, 60]]) }, nothing],
    ['the time of a lease', { ...nothing, leases: new Map([[7n, 60]]) }, { ...nothing, leases: new Map([[7n, 61]]) }],
    ['a mark', { ...nothing, meta: new Map([['compact.finished', 3]]) }, nothing],
  ])('is another one with %s more or less', (_what, a, b) => {
    const before = newSeal();
    expect(encodeSeal(sealOf(before, a)).equals(encodeSeal(sealOf(before, b)))).toBe(false);
  });

  it('forgets a lease that ends or gets another time', () => {
    const first = sealOf(newSeal(), { ...nothing, leases: new Map([[7n, 60]]) });
    const changed = sealOf(first, { ...nothing, leases: new Map([[7n, 90]]) }, new Map([[7n, 60]]));
    const ended = sealOf(changed, { ...nothing, leases: new Map([[7n, undefined]]) }, new Map([[7n, 90]]));
    expect([ended.leases, ended.leaseSum]).toEqual([0, { high: 0, low: 0 }]);
  });

  it('counts commits, and is of one store', () => {
    const [one, other] = [newSeal(), newSeal()];
    expect(sealOf(sealOf(one, nothing), nothing)).toMatchObject({ store: one.store, commit: 2, revision: 1 });
    expect(other.store).not.toBe(one.store);
  });

  it('comes back from its bytes, and from no others', () => {
    const seal = sealOf(newSeal(), { ...append(2 ** 40), meta: new Map([['compact.scheduled', 2 ** 40 - 1]]) });
    const bytes = encodeSeal(seal);
    expect(decodeSeal(bytes)).toEqual(seal);
    for (let bit = 0; bit < SEAL_BYTES * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(decodeSeal(flipped), `bit ${bit}`).toBeUndefined();
    }
    expect([decodeSeal(undefined), decodeSeal(bytes.subarray(1)), decodeSeal(Buffer.alloc(SEAL_BYTES))]).toEqual(
      Array(3).fill(undefined),
    );
  });
});
