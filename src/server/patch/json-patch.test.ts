import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { isStatusError } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonPatch, patchFaultOf } from './json-patch.ts';

const refused = 'the server rejected our request due to an error in our request';
const numbered = (length: number) => Array.from({ length }, (_, i) => ({ i }));

const document = { data: { k: 'v' }, list: ['a', 'b'], 'a/b': { 'm~n': 1 }, nil: null };

describe('jsonPatch()', () => {
  it.each<[claim: string, patch: JsonValue, want: JsonValue]>([
    ['adds a member', [{ op: 'add', path: '/data/x', value: 1 }], { ...document, data: { k: 'v', x: 1 } }],
    ['adds over a member', [{ op: 'add', path: '/data/k', value: 'w' }], { ...document, data: { k: 'w' } }],
    [
      'replaces what is not there',
      [{ op: 'replace', path: '/data/x', value: 1 }],
      { ...document, data: { k: 'v', x: 1 } },
    ],
    [
      'inserts and appends',
      [
        { op: 'add', path: '/list/1', value: 'x' },
        { op: 'add', path: '/list/-', value: 'y' },
      ],
      { ...document, list: ['a', 'x', 'b', 'y'] },
    ],
    [
      'removes',
      [
        { op: 'remove', path: '/list/0' },
        { op: 'remove', path: '/data/k' },
      ],
      { ...document, list: ['b'], data: {} },
    ],
    ['moves', [{ op: 'move', from: '/data/k', path: '/data/c' }], { ...document, data: { c: 'v' } }],
    [
      'copies, and the copy is its own',
      [
        { op: 'copy', from: '/data', path: '/copy' },
        { op: 'add', path: '/copy/k', value: 'w' },
      ],
      { ...document, copy: { k: 'w' } },
    ],
    ['reads escapes', [{ op: 'replace', path: '/a~1b/m~0n', value: 2 }], { ...document, 'a/b': { 'm~n': 2 } }],
    ['tests', [{ op: 'test', path: '/list', value: ['a', 'b'] }], document],
    ['finds an absent member null', [{ op: 'test', path: '/data/none', value: null }], document],
    ['replaces the whole', [{ op: 'add', path: '', value: { a: 1 } }], { a: 1 }],
    ['does nothing', [], document],
  ])('%s', (_claim, patch, want) => {
    const before = JSON.stringify(document);
    expect(jsonPatch(document, patch)).toEqual(want);
    expect(JSON.stringify(document)).toBe(before);
  });

  it.each<[claim: string, operation: JsonObject]>([
    ['a test that does not hold', { op: 'test', path: '/data/k', value: 'x' }],
    ['an unknown operation', { op: 'frobnicate', path: '/data/k' }],
    ['the removal of nothing', { op: 'remove', path: '/data/none' }],
    ['a parent that is not there', { op: 'add', path: '/none/x', value: 1 }],
    ['an index out of range', { op: 'remove', path: '/list/9' }],
    ['an index with a leading zero', { op: 'replace', path: '/list/01', value: 1 }],
    ['an index below zero', { op: 'remove', path: '/list/-1' }],
    ['a way through a prototype', { op: 'add', path: '/__proto__/polluted', value: 1 }],
    ['a way through a constructor', { op: 'add', path: '/constructor/prototype/polluted', value: 1 }],
    ['a path without a slash', { op: 'remove', path: 'data' }],
    ['a bad escape', { op: 'remove', path: '/a~2' }],
    ['no value', { op: 'add', path: '/x' }],
    ['a move into itself', { op: 'move', from: '/data', path: '/data/x' }],
  ])('answers 422 to %s', (_claim, operation) => {
    try {
      jsonPatch(document, [operation]);
      expect.unreachable();
    } catch (err) {
      expect(isStatusError(err, 'Invalid')).toBe(true);
    }
  });

  it('takes __proto__ for data', () => {
    const result = jsonPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: 1 } }]);
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('refuses what is no list, what is too long, and copies without end', () => {
    expect(() => jsonPatch({}, { op: 'add' })).toThrow(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '', value: {} }));
    expect(() => jsonPatch({}, many)).toThrow('The allowed maximum operations in a JSON patch is 10000, got 10001');
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: 'copy', from: '', path: `/x${i}` }));
    expect(() => jsonPatch({ a: 1 }, doubling)).toThrow(refused);
  });

  it('lets copies add up to three megabytes and no more, as JSON', () => {
    const text = 'x'.repeat(1024 * 1024 - 2); // with its quotes exactly a third
    const copies = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ op: 'copy', from: '/a', path: `/x${i}` }));
    expect(Object.keys(jsonPatch({ a: text }, copies(3)) as object)).toHaveLength(4);
    expect(() => jsonPatch({ a: text }, copies(4))).toThrow(refused);
    expect(() => jsonPatch({ a: { [text]: 1 } }, copies(3))).toThrow(refused);
    expect(() => jsonPatch({ a: Array.from({ length: 400_000 }, () => 1) }, copies(4))).toThrow(refused);
  });

  it('nests nothing deeper than a body may', () => {
    const deeper = Array.from({ length: 20 }, () => ({ op: 'copy', from: '', path: '/a' }));
    expect(() => jsonPatch({ a: 1 }, deeper)).not.toThrow();
    const doubling = Array.from({ length: 12 }, (_, i) => ({ op: 'copy', from: '', path: '/a'.repeat(2 ** i) }));
    expect(() => jsonPatch({ a: 1 }, doubling)).toThrow(refused);
    expect(() => jsonPatch({}, [{ op: 'test', path: '/a'.repeat(1001), value: 1 }])).toThrow(refused);
  });

  it.each<[what: string, make: (size: number) => { document: JsonValue; patch: JsonValue[] }]>([
    [
      'tests',
      (size) => ({
        document: { list: numbered(size) },
        patch: numbered(size).map((_, i) => ({ op: 'test', path: `/list/${i}`, value: { i } })),
      }),
    ],
    [
      'changes to a large object',
      (size) => ({
        document: Object.fromEntries(numbered(size * 4).map((_, i) => [`k${i}`, i])),
        patch: numbered(size).map((_, i) => ({ op: i % 2 === 0 ? 'remove' : 'add', path: `/k${i}`, value: i })),
      }),
    ],
    [
      'copies of something large, each changed',
      (size) => ({
        document: { big: Object.fromEntries(numbered(20).map((_, i) => [`k${i}`, i])) },
        patch: numbered(Math.floor(size / 2)).flatMap((_, i) => [
          { op: 'copy', from: '/big', path: `/x${i}` },
          { op: 'add', path: '/big/k0', value: i },
        ]),
      }),
    ],
    [
      'moves',
      (size) => ({
        document: { a: { b: numbered(size) } },
        patch: numbered(size).map((_, i) => ({
          op: 'move',
          from: i % 2 === 0 ? '/a' : '/c',
          path: i % 2 === 0 ? '/c' : '/a',
        })),
      }),
    ],
  ])('takes time in proportion to the number of its %s', async (_what, make) => {
    const run = ({ document: one, patch }: ReturnType<typeof make>) => jsonPatch(one, patch);
    await expectLinear('jsonPatch()', { make, run, from: 500, limit: 10_000, rounds: 3 });
  });

  it('does what a naive patch on a clone does', () => {
    const step = fc.constantFrom('a', 'b', '0', '1', '-');
    const path = fc.array(step, { maxLength: 3 }).map((steps) => steps.map((s) => `/${s}`).join(''));
    const operation = fc.record({
      op: fc.constantFrom('add', 'remove', 'move', 'copy'),
      path,
      from: path,
      value: fc.constantFrom(1, [], { a: 1 }, { b: [1, { a: 2 }] }),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 8 }), (patch) => {
        const start = { a: { a: [1, 2], b: {} }, b: [{ a: 1 }, [2]] };
        expect(outcome(() => jsonPatch(start, patch as JsonValue))).toEqual(
          outcome(() => naive(start, patch as JsonObject[])),
        );
      }),
      { numRuns: 500 },
    );
  });
});

function outcome(run: () => JsonValue): unknown {
  try {
    return run();
  } catch {
    return 'refused';
  }
}

/** The RFC word by word: everything is cloned before every operation. */
function naive(start: JsonValue, patch: readonly JsonObject[]): JsonValue {
  let root = structuredClone(start);
  const steps = (pointer: JsonValue | undefined) => String(pointer).split('/').slice(1);
  const get = (path: string[]): JsonValue => path.reduce<JsonValue>((at, key) => child(at, key), root);
  const child = (at: JsonValue, key: string): JsonValue => {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key) || key === 'length') throw new Error('absent');
    return (at as JsonObject)[key]!;
  };
  const remove = (path: string[]): JsonValue => {
    if (path.length === 0) throw new Error('root');
    const value = get(path);
    const parent = get(path.slice(0, -1));
    if (Array.isArray(parent)) parent.splice(Number(path.at(-1)), 1);
    else delete (parent as JsonObject)[path.at(-1)!];
    return value;
  };
  const add = (path: string[], value: JsonValue): void => {
    if (path.length === 0) root = value;
    else {
      const parent = get(path.slice(0, -1));
      const key = path.at(-1)!;
      if (typeof parent !== 'object' || parent === null) throw new Error('no container');
      if (!Array.isArray(parent)) parent[key] = value;
      else {
        const index = key === '-' ? parent.length : Number(key);
        if (!(index <= parent.length)) throw new Error('range');
        parent.splice(index, 0, value);
      }
    }
  };
  for (const { op, path, from, value } of patch) {
    if (op === 'add') add(steps(path), structuredClone(value!));
    else if (op === 'remove') remove(steps(path));
    else if (op === 'copy') add(steps(path), structuredClone(get(steps(from))));
    else {
      if (`${path}/`.startsWith(`${from}/`) && path !== from) throw new Error('into itself');
      add(steps(path), remove(steps(from)));
    }
  }
  return root;
}

it.each<[operation: JsonObject, why: string]>([
  [
    { op: 'remove', path: '/a/x' },
    "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value",
  ],
  [
    { op: 'replace', path: '/x/y', value: 1 },
    'replace operation does not apply: doc is missing path: /x/y: missing value',
  ],
  [
    { op: 'move', from: '/x/y', path: '/z' },
    'move operation does not apply: doc is missing from path: /x/y: missing value',
  ],
  [
    { op: 'copy', from: '/l', path: '/x/y' },
    'copy operation does not apply: doc is missing destination path: /x/y: missing value',
  ],
  [{ op: 'test', path: '/x/y', value: 1 }, 'test operation does not apply: is missing path: /x/y: missing value'],
  [
    { op: 'test', path: '/l/7', value: 1 },
    "error in test for path: '/l/7': Unable to access invalid index: 7: invalid index referenced",
  ],
  [{ op: 'remove', path: '/x/y' }, 'remove operation does not apply: doc is missing path: "/x/y": missing value'],
  [{ op: 'add', path: '/x/y', value: 1 }, 'add operation does not apply: doc is missing path: "/x/y": missing value'],
  [
    { op: 'add', path: '/l/9', value: 1 },
    "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
  ],
  [{ op: 'test', path: '/a/b', value: 2 }, 'testing value /a/b failed: test failed'],
  [{ op: 'grow', path: '/a' }, 'Unexpected kind: grow'],
])('%j that does not apply says why to those who may tell', (operation, why) => {
  let thrown: unknown;
  try {
    jsonPatch({ a: { b: 1 }, l: [1] }, [operation]);
  } catch (err) {
    thrown = err;
  }
  expect(isStatusError(thrown, 'Invalid') && thrown.message).toMatch(/the server rejected our request/);
  expect(patchFaultOf(thrown)?.message).toBe(why);
  expect(patchFaultOf(thrown)?.isFailedTest).toBe(why.endsWith('test failed'));
});
