import { expect, it } from 'vitest';
import { fieldErrorText, type KubeObject } from '../../../api/index.ts';
import { between, oneOf, required } from './checks.ts';
import { checksFrom, defaultsFrom, immutableFields } from './field-table.ts';
import { sameValue } from './fields.ts';
import { lineDiff } from './line-diff.ts';

const object = (fields: object): KubeObject => ({ kind: 'K', apiVersion: 'v1', metadata: { name: 'a' }, ...fields });

it('defaultsFrom() fills what is absent, in lists too, and makes nothing but spec', () => {
  const setDefaults = defaultsFrom([
    ['spec.list[].a', 1],
    ['spec.deep.b', 2],
    ['spec.c', {}],
    ['spec.c.d', 3, (owner) => owner.d === undefined],
  ]);
  const filled = object({ spec: { list: [{}, { a: 9 }] } });
  setDefaults(filled);
  expect(filled.spec).toEqual({ list: [{ a: 1 }, { a: 9 }], c: { d: 3 } });
  const bare = object({});
  setDefaults(bare);
  expect(bare.spec).toEqual({ c: { d: 3 } });
});

it('checksFrom() names the place, and gives one reason for one value', () => {
  const check = checksFrom([
    ['spec.list[].a', required, oneOf('x')],
    ['spec.map{}', between(1, 2)],
  ]);
  const errors = check(object({ spec: { list: [{ a: 'x' }, {}, { a: 'y' }], map: { k: 3, j: 1 } } }));
  expect(errors.map(fieldErrorText)).toEqual([
    'spec.list[1].a: Required value',
    'spec.list[2].a: Unsupported value: "y": supported values: "x"',
    'spec.map[k]: Invalid value: 3: must be between 1 and 2, inclusive',
  ]);
});

it('immutableFields() takes an empty list for an absent one, and nothing else', () => {
  const check = immutableFields(['spec.a']);
  expect(check(object({ spec: { a: [] } }), object({ spec: {} }))).toEqual([]);
  expect(check(object({ spec: { a: { b: [] } } }), object({ spec: { a: {} } }))).toEqual([]);
  expect(check(object({ spec: { a: {} } }), object({ spec: {} }))).toHaveLength(1);
  expect(check(object({ spec: { a: { b: '' } } }), object({ spec: { a: {} } }))).toHaveLength(1);
  expect(check(object({ spec: {} }), object({ spec: { a: 1 } })).map(fieldErrorText)).toEqual([
    'spec.a: Invalid value: null: field is immutable',
  ]);
});

it.each([
  [{ a: [] }, {}, true],
  [{ a: 0 }, {}, false],
  [{ a: { b: null } }, {}, true],
  [[1, 2], [1], false],
  [{ a: { b: 1 } }, { a: { b: 2 } }, false],
])('sameValue(%j, %j) is %s', (a, b, want) => expect(sameValue(a, b)).toBe(want));

it('lineDiff() shows three lines around each change, and joins those that are near', () => {
  const lines = Array.from({ length: 20 }, (_none, index) => `${index}`);
  const changed = lines.map((line) => (line === '2' || line === '15' ? `${line}!` : line));
  expect(lineDiff(lines.join('\n'), changed.join('\n'))).toBe(
    '@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+2!\n 3\n 4\n 5\n@@ -13,7 +13,7 @@\n 12\n 13\n 14\n-15\n+15!\n 16\n 17\n 18\n',
  );
  expect(lineDiff('a', 'a')).toBe('');
});
