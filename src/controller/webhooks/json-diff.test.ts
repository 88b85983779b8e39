import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../api/index.ts';
import { jsonPatch } from '../../server/patch/json-patch.ts';
import { jsonDiff } from './json-diff.ts';

it('jsonDiff() gives a patch that a server makes the one of the other with', () => {
  const near = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue[]>(null, 0, 1, 'a', '', true),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e', '~1', '', '-', '0'), tie('value'), { maxKeys: 4 }),
    ),
  })).value as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(near, near, (from, to) => {
      const wrapped = { at: from };
      const patch = JSON.parse(JSON.stringify(jsonDiff(wrapped, { at: to }))) as JsonValue;
      expect(jsonPatch(structuredClone(wrapped), patch)).toEqual({ at: to });
    }),
    { numRuns: 300 },
  );
});

it('jsonDiff() says nothing where nothing differs, and removes what is undefined', () => {
  expect(jsonDiff({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
  expect(jsonDiff({ a: 1 }, { a: undefined })).toEqual([{ op: 'remove', path: '/a' }]);
});
