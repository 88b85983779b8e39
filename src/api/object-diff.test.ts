import { expect, it } from 'vitest';
import { diffObjects, showChange } from './object-diff.ts';

const lines = (before: unknown, after: unknown) => diffObjects(before, after).map(showChange);

it.each<[claim: string, before: object, after: object, want: string[]]>([
  ['a value', { spec: { replicas: 1 } }, { spec: { replicas: 3 } }, ['~ spec.replicas: 1 -> 3']],
  ['what is new and gone', { a: 1 }, { b: 2 }, ['- a: 1', '+ b: 2']],
  ['a key with dots', { l: {} }, { l: { 'a.b/c': 'd' } }, ['+ l["a.b/c"]: "d"']],
  [
    'an item of a list by its name, wherever it stands',
    {
      c: [
        { name: 'a', image: '1' },
        { name: 'b', image: '1' },
      ],
    },
    {
      c: [
        { name: 'b', image: '2' },
        { name: 'a', image: '1' },
      ],
    },
    ['~ c[name=b].image: "1" -> "2"'],
  ],
  ['an item without a name by its place', { a: [1, 2] }, { a: [1, 3, 4] }, ['~ a[1]: 2 -> 3', '+ a[2]: 4']],
  [
    'not what every write changes',
    { metadata: { resourceVersion: '1', generation: 1, managedFields: [] } },
    { metadata: { resourceVersion: '2', generation: 2, managedFields: [{}] } },
    [],
  ],
  ['a map that becomes a list', { a: {} }, { a: [] }, ['~ a: {} -> []']],
])('tells %s', (_claim, before, after, want) => expect(lines(before, after)).toEqual(want));

it('a long value is cut', () => {
  expect(lines({}, { a: 'x'.repeat(1000) })[0]!.length).toBeLessThan(220);
});
