import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { compileJsonPath, JsonPathError } from './json-path.ts';

const object = {
  metadata: { labels: { 'a.b/c': 'x', plain: 'y' }, finalizers: ['f', 'g', 'h'] },
  spec: { size: 3, nested: { deep: { name: 'n' } }, none: null },
  status: {
    conditions: [
      { type: 'Synced', status: 'True', age: 5 },
      { type: 'Ready', status: 'False', age: 9 },
    ],
  },
};

describe('compileJsonPath()', () => {
  it.each<[path: string, want: unknown[]]>([
    ['.spec.size', [3]],
    ['{.spec.size}', [3]],
    ['$.spec.size', [3]],
    ['.spec.missing.further', []],
    ['.spec.none', [null]],
    ['.spec.none.further', []],
    ['.spec.toString', []],
    ['.metadata.labels.a\\.b/c', ['x']],
    ["['metadata'].labels['a.b/c']", ['x']],
    ['.metadata.labels["plain"]', ['y']],
    ['.metadata.finalizers[0]', ['f']],
    ['.metadata.finalizers[-1]', ['h']],
    ['.metadata.finalizers[9]', []],
    ['.metadata.finalizers[1:]', ['g', 'h']],
    ['.metadata.finalizers[0:2]', ['f', 'g']],
    ['.metadata.finalizers[*]', ['f', 'g', 'h']],
    ['.metadata.labels.*', ['x', 'y']],
    ['.status.conditions[*].type', ['Synced', 'Ready']],
    ['.status.conditions[?(@.type=="Ready")].status', ['False']],
    [".status.conditions[?(@.type == 'Ready')].age", [9]],
    ['.status.conditions[?(@.type!="Ready")].type', ['Synced']],
    ['.status.conditions[?(@.age>5)].type', ['Ready']],
    ['.status.conditions[?(@.age<=5)].type', ['Synced']],
    ['.status.conditions[?(@.status)].age', [5, 9]],
    ['..name', ['n']],
    ['.', [object]],
  ])('%s', (path, want) => expect(compileJsonPath(path)(object)).toEqual(want));

  it.each(['.a[', '.a[?(@.b=~/x/)]', 'spec', '.a b'])('refuses %j', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });

  it.each<[what: string, path: string]>([
    ['blanks in an index', `.a[${' '.repeat(2_000)}`],
    ['blanks in a slice', `.a[${' '.repeat(900)}:${' '.repeat(900)}`],
    ['names', '.a'.repeat(600)],
    ['looks at everything', '..*'.repeat(9)],
  ])('refuses a path of too many %s', (_what, path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });

  it.each(['[?(@.n==9007199254740993)]', '[?(@.n>9007199254740992)]', '[?(@.n>=5)]'])(
    'compares exactly: %s',
    (path) => {
      const list = [{ n: 9007199254740993n, name: 'exact' }, { n: 4 }];
      expect(compileJsonPath(`.list${path}.name`)({ list })).toEqual(['exact']);
    },
  );

  it.each<[what: string, make: (size: number) => string]>([
    ['blanks', (size) => `.a[${' '.repeat(size)}x`],
    ['blanks around a colon', (size) => `.a[${' '.repeat(size)}:${' '.repeat(size)}x`],
    ['blanks around two colons', (size) => `.a[${' '.repeat(size)}:${' '.repeat(size)}:${' '.repeat(size)}x`],
    ['a name in quotes', (size) => `['${'\\\\a'.repeat(size)}`],
    ['a filter', (size) => `[?(@${'.a'.repeat(size)} == '${' '.repeat(size)}`],
  ])('is compiled in time in proportion to its length: %s', async (_what, make) => {
    const run = (path: string) => {
      for (let i = 0; i < 100; i++) expect(() => compileJsonPath(path)).toThrow(JsonPathError);
    };
    await expectLinear('compileJsonPath()', { make, run, from: 5, limit: 300, rounds: 3 });
  });
});

it.each([
  ['spaces in an index', (n: number) => `.a[${' '.repeat(n)}x]`],
  ['spaces around the numbers of a slice', (n: number) => `.a[1${' '.repeat(n)}:${' '.repeat(n)}2${' '.repeat(n)}x]`],
  ['spaces in a filter', (n: number) => `.a[?(@.b${' '.repeat(n)}==${' '.repeat(n)}x`],
  ['many names', (n: number) => '.a'.repeat(n)],
])('reads a path with %s in time that grows with its length', async (what, path) => {
  const run = (text: string) => {
    try {
      compileJsonPath(text);
    } catch {
      // not all of them are paths
    }
  };
  await expectLinear(what, { make: path, run, from: 500, limit: 60_000 });
});

it.each([
  ['everything below everything', '..*[?(@..x)]'],
  ['everything below, again and again', '..a'.repeat(8)],
  ['each of each', '[*]'.repeat(340)],
])('looks for %s in time that does not grow faster than the value', async (what, path) => {
  const make = (depth: number) => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = { a: value };
    return Array.from({ length: depth }, () => [value]);
  };
  const find = compileJsonPath(path);
  await expectLinear(what, { make, run: (value) => find(value), from: 250, limit: 16_000, rounds: 2 });
});
