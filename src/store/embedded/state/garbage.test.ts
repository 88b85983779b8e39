import { describe, expect, it } from 'vitest';
import type { Key, Revision } from '../../kv.ts';
import { Garbage } from './garbage.ts';
import { KeyIndex } from './key-index.ts';
import { addToIndex } from './recovery.ts';

const ALL = Number.POSITIVE_INFINITY;

/** A history in one line: `a=` puts a, `a-` deletes it; the first change is revision 2. */
function historyOf(line: string): { index: KeyIndex; garbage: Garbage } {
  const index = new KeyIndex();
  const garbage = new Garbage();
  line.split(' ').forEach((word, i) => {
    const key = word.slice(0, -1);
    const modRevision = i + 2;
    const before = index.at(key, modRevision);
    const isPut = word.endsWith('=');
    addToIndex(index, garbage, key, {
      modRevision,
      sub: 0,
      createRevision: isPut ? (before?.createRevision ?? modRevision) : 0,
      version: isPut ? (before?.version ?? 0) + 1 : 0,
      lease: 0n,
    });
  });
  return { index, garbage };
}

const revisionsOf = (versions: readonly { modRevision: Revision }[]) =>
  versions.map(({ modRevision }) => modRevision).sort((a, b) => a - b);

/** The revisions of a key that the index still knows. */
function left(index: KeyIndex, key: Key): Revision[] {
  const entry = index.entry(key);
  return entry ? revisionsOf([...(entry.older ?? []), entry.latest]) : [];
}

describe('a compaction takes', () => {
  it.each<[claim: string, history: string, at: Revision, taken: Revision[], left: Revision[]]>([
    ['nothing of a key with one version', 'a=', 2, [], [2]],
    ['what was superseded at its revision', 'a= a=', 3, [2], [3]],
    ['nothing that was superseded above it', 'a= a=', 2, [], [2, 3]],
    ['every version but the newest at or below it', 'a= a= a= a= a=', 4, [2, 3], [4, 5, 6]],
    ['the last version before a delete, and keeps the delete at its very revision', 'a= a-', 3, [2], [3]],
    ['a delete below it, and with it the key', 'a= a- b=', 4, [2, 3], []],
    ['a delete under a put that came after, once it is below', 'a= a- a=', 4, [2, 3], [4]],
    ['not the delete under a later put at its very revision', 'a= a- a=', 3, [2], [3, 4]],
    ['both deletes of a key that came and went twice', 'a= a- a= a- b=', 6, [2, 3, 4, 5], []],
    ['only the first life when it lies between two', 'a= a- a= a- b=', 4, [2, 3], [4, 5]],
    ['nothing below the first revision', 'a= a=', 1, [], [2, 3]],
  ])('%s', (_claim, history, at, taken, remaining) => {
    const { index, garbage } = historyOf(history);
    expect(revisionsOf(garbage.take(at, ALL, index))).toEqual(taken);
    expect(left(index, 'a')).toEqual(remaining);
    expect(garbage.take(at, ALL, index)).toEqual([]);
  });

  it('its share in portions, and the same in all', () => {
    const line = 'a= b= a= b- a= c= c- b= a- a= d= b- d=';
    const whole = historyOf(line);
    const expected = revisionsOf(whole.garbage.take(12, ALL, whole.index));
    expect(expected.length).toBeGreaterThan(5);
    for (const limit of [1, 2, 3]) {
      const { index, garbage } = historyOf(line);
      const taken: Revision[] = [];
      for (let portion = garbage.take(12, limit, index); portion.length > 0; portion = garbage.take(12, limit, index)) {
        expect(portion.length).toBeLessThanOrEqual(limit);
        taken.push(...revisionsOf(portion));
      }
      expect(taken.sort((a, b) => a - b)).toEqual(expected);
      for (const key of 'abcd') expect(left(index, key)).toEqual(left(whole.index, key));
    }
  });

  it('thousands from the front of the queue, in order of the revision that freed them', () => {
    const { index, garbage } = historyOf(Array.from({ length: 5000 }, () => 'a=').join(' '));
    const seen: Revision[] = [];
    for (let at = 500; at <= 5001; at += 500)
      seen.push(...garbage.take(at, ALL, index).map((version) => version.modRevision));
    expect(seen).toEqual(Array.from({ length: 4998 }, (_, i) => i + 2));
    expect(left(index, 'a')).toEqual([5000, 5001]);
  });

  it('from every read at or above it nothing', () => {
    const line = 'a= b= a= b- a= c= c- b= a- a= d= b- d=';
    const last = 14;
    for (let at = 2; at <= last; at++) {
      const before = historyOf(line).index;
      const { index, garbage } = historyOf(line);
      garbage.take(at, ALL, index);
      for (let revision = at; revision <= last; revision++)
        for (const key of 'abcd') expect(index.at(key, revision)).toEqual(before.at(key, revision));
    }
  });
});
