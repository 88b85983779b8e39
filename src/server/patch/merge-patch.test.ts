import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../api/json.ts';
import { mergePatch } from './merge-patch.ts';

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;

describe('mergePatch()', () => {
  // RFC 7386, appendix A
  it.each<[target: JsonValue, patch: JsonValue, want: JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('of %j and %j is %j', (target, patch, want) => expect(mergePatch(target, patch)).toEqual(want));

  it('leaves its arguments alone, and applied twice changes nothing more', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        const once = mergePatch(target, patch);
        expect(JSON.stringify([target, patch])).toBe(before);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  it('answers the target itself when the patch says nothing new', () => {
    const target = { a: { b: [1, 2] }, c: 'x' };
    expect(mergePatch(target, { a: { b: [1, 2] }, d: null })).toBe(target);
    expect(mergePatch(target, {})).toBe(target);
  });

  it('takes __proto__ for data', () => {
    const result = mergePatch({ a: 1 }, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(JSON.stringify(result)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
