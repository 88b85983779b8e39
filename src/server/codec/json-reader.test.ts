import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonSyntaxError, readJson } from './json-reader.ts';

it('readJson() answers what JSON.parse answers, for any value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
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
  expect(readJson(text)).toEqual({ value, duplicates });
});

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
  ['9007199254740993', 'cannot unmarshal number 9007199254740993: integers beyond 2^53 are not supported'],
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
