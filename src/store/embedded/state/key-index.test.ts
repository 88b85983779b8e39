import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bounds, isInBounds } from '../../keys.ts';
import type { Key, Revision } from '../../kv.ts';
import { KeyIndex, type Version } from './key-index.ts';

type Step = { readonly kind: 'put' | 'delete' | 'forget'; readonly key: Key };

const nameOf = (n: number): Key => `k${String(n).padStart(4, '0')}`;
const names = fc.nat(1500).map(nameOf);
/** Enough steps on enough keys that chunks fill, split and empty again. */
const steps = fc.array(
  fc.record({ kind: fc.constantFrom('put', 'put', 'put', 'delete', 'forget', 'forget'), key: names }),
  { maxLength: 4000, size: 'max' },
) as fc.Arbitrary<Step[]>;
const bounds = fc.record({ start: fc.oneof(fc.constant(''), names), end: fc.option(names, { nil: undefined }) });

function versionAt(revision: Revision, createRevision: Revision): Version {
  return { modRevision: revision, sub: 0, createRevision, version: createRevision && 1, lease: 0n };
}

/** The same as KeyIndex by way of the plainest structure there is. */
class PlainIndex {
  readonly versions = new Map<Key, Version[]>();

  keys(range: Bounds): Key[] {
    return [...this.versions.keys()].filter((key) => isInBounds(key, range)).sort();
  }

  at(key: Key, revision: Revision): Version | undefined {
    const version = this.versions.get(key)?.findLast(({ modRevision }) => modRevision <= revision);
    return version?.createRevision ? version : undefined;
  }
}

function replay(all: readonly Step[]): { index: KeyIndex; plain: PlainIndex; revision: Revision } {
  const index = new KeyIndex();
  const plain = new PlainIndex();
  let revision = 1;
  for (const { kind, key } of all) {
    const versions = plain.versions.get(key) ?? [];
    if (kind === 'forget') {
      const oldest = versions.shift();
      if (oldest) index.forget(index.entry(key)!, oldest);
      if (versions.length === 0) plain.versions.delete(key);
      continue;
    }
    revision++;
    const version = versionAt(revision, kind === 'put' ? revision : 0);
    const { superseded } = index.add(key, version);
    expect(superseded).toBe(versions.at(-1));
    plain.versions.set(key, [...versions, version]);
  }
  return { index, plain, revision };
}

describe('KeyIndex', () => {
  it('equals a plain sorted list after any history', () => {
    fc.assert(
      fc.property(
        steps,
        fc.array(fc.tuple(bounds, fc.integer({ min: 1, max: 700 })), { minLength: 5, maxLength: 20 }),
        (all, ranges) => {
          const { index, plain, revision } = replay(all);
          expect(index.size).toBe(plain.versions.size);
          for (const [range, limit] of ranges) {
            const keys = plain.keys(range);
            expect(index.slice(range, limit).map(({ key }) => key)).toEqual(keys.slice(0, limit));
            expect(index.slice(range, Number.POSITIVE_INFINITY)).toHaveLength(keys.length);
            expect(index.countLive(range)).toBe(keys.filter((key) => plain.at(key, revision)).length);
          }
        },
      ),
      { numRuns: 60, endOnFailure: true }, // to shrink histories this long would take minutes
    );
  });

  it('finds the version of any key at any revision', () => {
    const fewNames = fc.nat(5).map(nameOf);
    const fewSteps = fc.array(fc.record({ kind: fc.constantFrom('put', 'delete', 'forget'), key: fewNames }), {
      maxLength: 60,
      size: 'max',
    }) as fc.Arbitrary<Step[]>;
    fc.assert(
      fc.property(fewSteps, (all) => {
        const { index, plain, revision } = replay(all);
        for (let n = 0; n <= 5; n++)
          for (let at = 0; at <= revision + 1; at++) expect(index.at(nameOf(n), at)).toBe(plain.at(nameOf(n), at));
      }),
    );
  });

  it.each([
    ['ascending', (n: number) => n],
    ['descending', (n: number) => 2999 - n],
    ['from the middle outwards', (n: number) => (n % 2 ? 1500 + (n - 1) / 2 : 1499 - n / 2)],
  ])('keeps its order and its count over many chunks filled in %s order', (_order, nth) => {
    const index = new KeyIndex();
    for (let n = 0; n < 3000; n++) index.add(nameOf(nth(n)), versionAt(n + 2, n % 3 === 0 ? 0 : n + 2));
    const all = index.slice({ start: '', end: undefined }, Number.POSITIVE_INFINITY);
    expect(all.map(({ key }) => key)).toEqual(Array.from({ length: 3000 }, (_, n) => nameOf(n)));
    expect(index.countLive({ start: '', end: undefined })).toBe(2000);
    for (const entry of all) index.forget(entry, entry.latest);
    expect(index.size).toBe(0);
    expect(index.countLive({ start: '', end: undefined })).toBe(0);
    index.add('again', versionAt(9000, 9000));
    expect(index.slice({ start: '', end: undefined }, 10).map(({ key }) => key)).toEqual(['again']);
  });

  it('refuses to forget the newest version while older ones remain', () => {
    const index = new KeyIndex();
    index.add('a', versionAt(2, 2));
    const { entry } = index.add('a', versionAt(3, 2));
    expect(() => index.forget(entry, entry.latest)).toThrow('Cannot forget version 3 of "a": older ones remain');
    expect(index.at('a', 3)?.modRevision).toBe(3);
  });
});
