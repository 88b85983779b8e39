import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeyValue } from '../../kv.ts';
import { decodeRecord, encodeRecord, isIntact, keyValueOf } from './log-record.ts';

const revisions = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
const lengths = fc.oneof(fc.nat(3), fc.constantFrom(126, 127, 128, 129, 16_383, 16_384, 16_385));
/** Lengths on both sides of where a varint grows, bytes of every kind. */
const bytesOf = (least: number) =>
  fc
    .tuple(lengths, fc.nat(255))
    .map(([length, first]) =>
      Buffer.from(Array.from({ length: Math.max(least, length) }, (_, i) => (first + i) & 255)),
    );

const puts: fc.Arbitrary<KeyValue> = fc.record({
  key: bytesOf(1).map((bytes) => bytes.toString('latin1')),
  value: bytesOf(0),
  createRevision: revisions,
  modRevision: revisions,
  version: revisions,
  lease: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })),
});

const sample: KeyValue = {
  key: 'pods/a',
  value: Buffer.from('{"kind":"Pod"}'),
  createRevision: 3,
  modRevision: 700,
  version: 2,
  lease: 9n,
};

/** Values compared as bytes, whatever kind of array holds them. */
const plain = (kv: KeyValue) => ({ ...kv, value: Buffer.from(kv.value).toString('hex') });

describe('a log record', () => {
  it('comes back as it was written', () => {
    fc.assert(
      fc.property(puts, (kv) => {
        expect(plain(decodeRecord(encodeRecord(kv)))).toEqual(plain(kv));
      }),
    );
  });

  it('gives the same pair by the short way as by the long one', () => {
    fc.assert(
      fc.property(puts, (kv) => {
        const { key, value: _value, ...facts } = kv;
        const record = encodeRecord(kv);
        expect(plain(keyValueOf(key, { ...facts, sub: 0 }, record))).toEqual(plain(decodeRecord(record)));
      }),
    );
  });

  it('is intact as written, and not after any single bit has flipped', () => {
    const record = encodeRecord(sample);
    expect(isIntact(record)).toBe(true);
    for (let bit = 0; bit < record.length * 8; bit++) {
      const flipped = Buffer.from(record);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(isIntact(flipped), `bit ${bit}`).toBe(false);
    }
  });

  it('is not intact when it is cut short, extended or empty', () => {
    const record = encodeRecord(sample);
    for (let length = 0; length < record.length; length++)
      expect(isIntact(record.subarray(0, length)), `${length} bytes`).toBe(false);
    expect(isIntact(Buffer.concat([record, Buffer.alloc(1)]))).toBe(false);
    expect(isIntact(Buffer.alloc(8))).toBe(false);
  });

  it('of a delete holds the key and the revision alone', () => {
    const kv = { key: 'a', value: Buffer.alloc(0), createRevision: 0, modRevision: 5, version: 0, lease: 0n };
    expect(decodeRecord(encodeRecord(kv))).toMatchObject({ key: 'a', createRevision: 0, modRevision: 5, version: 0 });
    expect(encodeRecord(kv)).toHaveLength(4 + 3 + 2);
  });
});

it('keyValueOf() does not take the checksum for a value', () => {
  // Without a value the checksum follows at once; try keys until it begins like the tag of a value.
  const tagOfValue = 0x2a;
  let found = 0;
  for (let i = 0; found < 3; i++) {
    const kv = { key: `k${i}`, value: Buffer.alloc(0), createRevision: 2, modRevision: 2, version: 1, lease: 0n };
    const record = encodeRecord(kv);
    if (record[record.length - 4] !== tagOfValue) continue;
    found++;
    expect(keyValueOf(kv.key, { ...kv, sub: 0 }, record)).toEqual(kv);
  }
});
