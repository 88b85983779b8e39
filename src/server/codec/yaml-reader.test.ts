import { expect, it } from 'vitest';
import { readYaml, YamlSyntaxError } from './yaml-reader.ts';

it.each<[text: string, value: unknown]>([
  ['a: yes\nb: off\nc: "yes"\n', { a: true, b: false, c: 'yes' }],
  ['mode: 0644\nhex: 0x1f\nf: 1.5\n', { mode: 420, hex: 31, f: 1.5 }],
  ['t: 2024-01-01T00:00:00Z\nd: 2024-01-01\n', { t: '2024-01-01T00:00:00Z', d: '2024-01-01' }],
  ['5: x\n1.5: z\ny: 1\n', { '1.5': 'z', '5': 'x', true: 1 }],
  ['multi: |\n  one\n  two\n', { multi: 'one\ntwo\n' }],
  ['base: &b {x: 1}\nc:\n  <<: *b\n  z: 2\n', { base: { x: 1 }, c: { x: 1, z: 2 } }],
  ['{"a": [1, null]}', { a: [1, null] }],
  ['', null],
  ['a: 1\n---\nb: 2\n', { a: 1 }],
  ['a: ~\n', { a: null }],
])('readYaml() of %j', (text, value) => {
  expect(readYaml(text)).toEqual({ value, duplicates: [] });
});

it('readYaml() lets the last of two equal keys win, and tells its line', () => {
  expect(readYaml('data:\n  k: "1"\n  k: "2"\n')).toEqual({
    value: { data: { k: '2' } },
    duplicates: ['line 3: key "k" already set in map'],
  });
});

it('readYaml() keeps __proto__ as a key', () => {
  const { value } = readYaml('__proto__: {x: 1}\n');
  expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
  expect(({} as { x?: number }).x).toBeUndefined();
});

it('readYaml() refuses aliases that unfold to too much, or to themselves', () => {
  const bomb = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let i = 1; i < 9; i++) bomb.push(`a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(',')}]`);
  expect(() => readYaml(bomb.join('\n'))).toThrow('yaml: document contains excessive aliasing');
  expect(() => readYaml('a: &a [*a]\n')).toThrow(YamlSyntaxError);
});

it.each(['a: [1', 'kind: x\n\tbad: tab\n', 'a: "b', '? [x]\n: y\n', 'a: .inf\n', '[[[[[['])(
  'readYaml() refuses %j',
  (text) => expect(() => readYaml(text)).toThrow(YamlSyntaxError),
);
