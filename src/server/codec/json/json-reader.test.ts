import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { hasPlainKeys } from '../../../api/json-keys.testing.ts';
import { faultPathText } from './fault-paths.ts';
import { JsonSyntaxError, parseJson, readJson } from './json-reader.ts';

it('readJson() answers what JSON.parse answers, for any value', () => {
  fc.assert(
    fc.property(fc.jsonValue().filter(hasPlainKeys), fc.nat(3), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      if (/[0-9]{16}/.test(text)) return;
      expect(readJson(text)).toEqual({ value: JSON.parse(text), duplicates: [] });
    }),
  );
});

it.each<[text: string, duplicates: string[], value: unknown]>([
  ['{"a":1,"a":2}', ['a'], { a: 2 }],
  ['{"data":{"k":"1","l":"x","k":"2"}}', ['data.k'], { data: { k: '2', l: 'x' } }],
  ['{"a":[{},{"b":1,"b":[1,2]}]}', ['a[1].b'], { a: [{}, { b: [1, 2] }] }],
  [String.raw`{"a\"":{"x":":"},"b":"\\","c":"{"}`, [], { 'a"': { x: ':' }, b: '\\', c: '{' }],
])('readJson() of %s tells of duplicates %j', (text, duplicates, value) => {
  const reading = readJson(text);
  expect(reading.value).toEqual(value);
  expect(reading.duplicates.map(faultPathText)).toEqual(duplicates);
});

it.each<[text: string, value: unknown]>([
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', 9007199254740992n],
  ['9007199254740993', 9007199254740993n],
  ['-9007199254740993', -9007199254740993n],
  ['9223372036854775807', 9223372036854775807n],
  ['-9223372036854775808', -9223372036854775808n],
  ['9223372036854775808', 2 ** 63],
  ['18446744073709551616', 2 ** 64],
  ['1e18', 1e18],
  ['9007199254740993.0', 9007199254740992],
  [`1${'0'.repeat(300)}`, 1e300],
])('readJson() and parseJson() keep the integer of %s as Go does', (text, value) => {
  expect(readJson(`{"a":[${text}]}`).value).toEqual({ a: [value] });
  expect(parseJson(`{"a":[${text}]}`)).toEqual({ a: [value] });
});

it('parseJson() answers what JSON.parse answers, for any value without long integers', () => {
  fc.assert(
    fc.property(fc.jsonValue().filter(hasPlainKeys), (value) => {
      const text = JSON.stringify(value);
      if (!/[0-9]{16}/.test(text)) expect(parseJson(text)).toEqual(JSON.parse(text));
    }),
  );
});

describe('readJson() takes time in proportion to its text', () => {
  it.each<[what: string, make: (size: number) => string]>([
    ['keys that occur again', (size) => `{${'"a":{"b":1},'.repeat(size)}"a":2}`],
    ['a long key with many below it', (size) => `{"${'k'.repeat(size)}":{${'"a":1,'.repeat(size)}"a":2}}`],
    [
      'nesting with keys that occur again',
      (size) => `${'{"k":'.repeat(900)}{${'"a":1,'.repeat(size)}"a":2}${'}'.repeat(900)}`,
    ],
    ['escapes', (size) => `{"a":1,"a":"${String.raw`\\\"\u00e9`.repeat(size)}"}`],
    ['long numbers', (size) => `[${'1234567890123456789,'.repeat(size)}1]`],
    ['a number that does not end', (size) => `[${'1'.repeat(size)}]`],
    ['blanks', (size) => `{"a":1,"a":${' '.repeat(size)}2}`],
  ])('with %s', async (_what, make) => {
    await expectLinear('readJson()', { make, run: readSafely, from: 2_000, limit: 32_000 });
  });
});

function readSafely(text: string): void {
  try {
    readJson(text);
  } catch (err) {
    expect(err).toBeInstanceOf(JsonSyntaxError);
  }
}

it('readJson() keeps __proto__ as a key like any other', () => {
  for (const text of ['{"__proto__":{"x":1}}', '{"a":1,"a":2,"__proto__":{"x":1}}']) {
    const { value } = readJson(text);
    expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
    expect((value as { x?: number }).x).toBeUndefined();
  }
});

it.each([
  ['', 'unexpected end of JSON input'],
  ['{"kind":"ConfigMap",', 'unexpected end of JSON input'],
  ['hello', "invalid character 'h' looking for beginning of value"],
  ['{"a":1} trailing', "invalid character 't' after top-level value"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
  ['[1 2]', "invalid character '2' after array element"],
  ['trux', "invalid character 'x' in literal true (expecting 'e')"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['-a', "invalid character 'a' in numeric literal"],
  ['[1.]', "invalid character ']' after decimal point in numeric literal"],
  ['1e999', 'cannot unmarshal number 1e999: out of range'],
])('readJson() refuses %j in the words of Go', (text, message) => {
  expect(() => readJson(text)).toThrow(new JsonSyntaxError(message));
});

it('readJson() refuses to nest without end', () => {
  expect(() => readJson('['.repeat(2000) + ']'.repeat(2000))).toThrow('exceeded max depth');
  expect(readJson('['.repeat(900) + ']'.repeat(900)).duplicates).toEqual([]);
});

it('readJson() takes long numbers that are no plain integers, and long safe ones', () => {
  expect(readJson('[0.1234567890123456789, 1e300, 9007199254740991]').value).toEqual([
    0.12345678901234568, 1e300, 9007199254740991,
  ]);
});

it('readJson() ends in a value or a JsonSyntaxError on any text', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.slice(0, -1)),
      ),
      (text) => {
        try {
          readJson(text);
        } catch (err) {
          expect(err).toBeInstanceOf(JsonSyntaxError);
        }
      },
    ),
  );
});

it('a map of more entries than there may be is refused, many maps are not', () => {
  const map = (size: number) => `{${Array.from({ length: size }, (_, i) => `"k${i}":1`).join(',')}}`;
  expect(Object.keys(readJson(map(65_536)).value as object)).toHaveLength(65_536);
  expect(() => readJson(map(65_537))).toThrow(new JsonSyntaxError('a map with more than 65536 entries'));
  expect(readJson(`[${map(40_000)},${map(40_000)},{"a":${map(40_000)}}]`).duplicates).toEqual([]);
});

it.each(['"', '{"a', ']]]]]{', '{"a":"b\\', `${'['.repeat(3000)}`])('no text is looked at without end: %s', (text) => {
  expect(() => readJson(text)).toThrow(JsonSyntaxError);
});
