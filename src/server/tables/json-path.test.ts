import { describe, expect, it } from 'vitest';
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
});
