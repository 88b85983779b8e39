import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
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
  ['---\na: 1\n...\n: {[ not YAML', { a: 1 }],
  ['# comment\n%YAML 1.1\n--- {a: 1}\n--- {a: 2}\n', { a: 1 }],
  ['...\n...\na: 1\n---\nb', { a: 1 }],
  ['---\n---\na: 1\n', null],
  ['a: "x\n  ---"\n', { a: 'x ---' }],
  ['a: 9007199254740993\nb: -9223372036854775808\n', { a: 9007199254740993n, b: -9223372036854775808n }],
  ['a: 9223372036854775808\nb: 18446744073709551616\n', { a: 2 ** 63, b: 2 ** 64 }],
  ['a: 0x7fffffffffffffff\nb: 0b101\nc: 0o17\nd: -017\n', { a: 9223372036854775807n, b: 5, c: 15, d: -15 }],
  ['a: 1e3\nb: .5\nc: 1_000\nd: 08\ne: 1e999\n', { a: 1000, b: 0.5, c: 1000, d: 8, e: '1e999' }],
  ['a: 12:30\nb: 1:2:3.4\n', { a: '12:30', b: '1:2:3.4' }],
  [
    'a: !!str 5\nb: !!int "5"\nc: !own x\nd: !own {e: 1}\nf: !!binary aGk=\n',
    {
      a: '5',
      b: 5,
      c: 'x',
      d: { e: 1 },
      f: 'hi',
    },
  ],
  ['{"a": 9007199254740993, "b": 1e3}', { a: 9007199254740993n, b: 1000 }],
  ['"<<": 1\n', { '<<': 1 }],
  ['c:\n  z: 1\n  <<: [{z: 2, x: 3}, {x: 4}]\n', { c: { z: 1, x: 3 } }],
])('readYaml() of %j', (text, value) => {
  expect(readYaml(text)).toEqual({ value, duplicates: [] });
});

it('readYaml() lets the last of two equal keys win, and tells its line', () => {
  expect(readYaml('data:\n  k: "1"\n  k: "2"\n')).toEqual({
    value: { data: { k: '2' } },
    duplicates: ['line 3: key "k" already set in map'],
  });
});

it('readYaml() tells of every key that occurs again, with the line of its value', () => {
  const text = '# top\na:\n  b: 1\n  b: 2\n  "c d": 3\n  c d:\n    x: 4\na: {b: 1, b: 2}\n';
  expect(readYaml(text)).toEqual({
    value: { a: { b: 2 } },
    duplicates: [
      'line 4: key "b" already set in map',
      'line 7: key "c d" already set in map',
      'line 8: key "b" already set in map',
      'line 8: key "a" already set in map',
    ],
  });
  expect(readYaml('a: 1\n'.repeat(500)).duplicates).toHaveLength(100);
});

it('readYaml() gives every alias a value of its own', () => {
  const { value } = readYaml('a: &a {x: [1]}\nb: *a\nc: {<<: *a}\n') as unknown as {
    value: Record<string, { x: number[] }>;
  };
  value.b!.x.push(2);
  expect(value).toEqual({ a: { x: [1] }, b: { x: [1, 2] }, c: { x: [1] } });
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
  expect(() => readYaml('a: &a [*a]\n')).toThrow("yaml: line 1: anchor 'a' value contains itself");
  const long = `a: &a ${'x'.repeat(100_000)}\nb: [${'*a, '.repeat(100)}]\n`;
  expect(() => readYaml(long)).toThrow('yaml: document contains excessive aliasing');
  const merged = `a: &a {${Array.from({ length: 2_000 }, (_, i) => `k${i}: 1`).join(', ')}}\nb:\n${'- <<: *a\n'.repeat(2_000)}`;
  expect(() => readYaml(merged)).toThrow('yaml: document contains excessive aliasing');
});

it.each([
  ['a: !!int x\n', 'yaml: line 1: cannot decode `x` as a !!int'],
  ['a: 1\nb: *x\n', "yaml: line 2: unknown anchor 'x' referenced"],
  ['a: 1\n<<: 5\n', 'yaml: line 2: map merge requires map or sequence of maps as the value'],
  [`a: !${'é'.repeat(100_000)} x`, 'yaml: line 1: tag name cannot contain such characters: '],
])('readYaml() of %.20j says %j, and not much more', (text, message) => {
  const error = expect.objectContaining({ message: expect.stringContaining(message) });
  expect(() => readYaml(text)).toThrow(error);
  expect(() => readYaml(text)).toThrow(/^.{0,1100}$/su);
});

describe('readYaml() takes time in proportion to its text', () => {
  it.each<[what: string, make: (size: number) => string]>([
    ['a key again before blanks', (size) => `? k\n: 1\n? k${' '.repeat(size)}\n: 2\n`],
    [
      'a key again between blanks',
      (size) => {
        const blanks = ' '.repeat(size);
        return `m:\n${blanks}? k\n${blanks}: 1\n${blanks}? k${blanks}\n${blanks}: 2\n`;
      },
    ],
    ['keys again, each told with its line', (size) => 'k: v\n'.repeat(size)],
    ['many documents', (size) => '---\na: 1\n'.repeat(size)],
    ['many ends of documents', (size) => '...\n'.repeat(size)],
    ['merges', (size) => `a: &a {x: 1}\nb:\n${'- <<: *a\n'.repeat(size)}`],
    ['anchors', (size) => Array.from({ length: size }, (_, i) => `- &a${i} x\n`).join('')],
    ['block scalars', (size) => `a: |\n${'   text\n\n  \n'.repeat(size)}`],
    ['a block scalar of blanks', (size) => `a: >\n${'      \n'.repeat(size)}  x\n`],
    ['folded text', (size) => `a: x${'\n   y z'.repeat(size)}`],
    ['comments', (size) => `a: 1 ${'# x\n'.repeat(size)}`],
    ['flow collections', (size) => `[${'{a: [1, b], "c": d}, '.repeat(size)}]`],
    ['escapes', (size) => `a: "${String.raw`\x41\n\u263a`.repeat(size)}"`],
    ['a tag', (size) => `a: !${'t'.repeat(size)} x`],
    ['a long number', (size) => `a: 0x${'f'.repeat(size)}\nb: ${'1_'.repeat(size)}\n`],
    ['a quote that does not end', (size) => `a: "${'x: y\n  '.repeat(size)}`],
    ['JSON', (size) => JSON.stringify(Array.from({ length: size }, (_, i) => ({ [`k${i}`]: 'v' })))],
  ])('with %s', async (_what, make) => {
    await expectLinear('readYaml()', { make, run: readSafely, from: 50, limit: 8_000 });
  });
});

function readSafely(text: string): void {
  try {
    readYaml(text);
  } catch (err) {
    expect(err).toBeInstanceOf(YamlSyntaxError);
  }
}

it.each(['a: [1', 'kind: x\n\tbad: tab\n', 'a: "b', '? [x]\n: y\n', 'a: .inf\n', '[[[[[['])(
  'readYaml() refuses %j',
  (text) => expect(() => readYaml(text)).toThrow(YamlSyntaxError),
);
