import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compilePattern, PatternError } from './pattern.ts';

it.each<[pattern: string, good: string[], bad: string[]]>([
  ['^[a-z]+$', ['a', 'abc'], ['', 'aB', 'a1']],
  ['abc', ['abc', 'xabcx'], ['ab', 'acb']],
  ['^(a|bc)*d?$', ['', 'abcad', 'd'], ['b', 'dd']],
  ['^a{2,3}$', ['aa', 'aaa'], ['a', 'aaaa']],
  ['^a{2,}$', ['aa', 'aaaaa'], ['a']],
  ['^\\d{3}-\\w+$', ['123-a_b'], ['12-a', '123-']],
  ['^[^a-c\\]]+$', ['xyz'], ['a', ']']],
  ['(?i)^abc$', ['ABC', 'aBc'], ['abd']],
  ['^(?i:a)b$', ['Ab', 'ab'], ['aB']],
  ['^[[:alpha:]]+$', ['aZ'], ['a1']],
  ['\\bfoo\\b', ['a foo b', 'foo'], ['food', 'afoo']],
  ['^\\p{Lu}+$', ['ÄB'], ['äb']],
  ['^.$', ['x', '😀'], ['', 'xy', '\n']],
  ['(?m)^b$', ['a\nb\nc'], ['ab']],
  ['(?s)a.b', ['a\nb'], ['ab']],
  ['^\\Qa.b\\E$', ['a.b'], ['axb']],
  ['^\\x41\\x{1F600}$', ['A😀'], ['A']],
  ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', ['a', 'a-b.c'], ['-a', 'a.', 'A']],
  ['', ['', 'a'], []],
  ['^$', [''], ['a']],
  ['a||b', ['', 'x'], []],
  ['^[]a]+$', [']a'], ['b']],
  ['^[a-]+$', ['a-'], ['b']],
])('compilePattern(%j) matches as RE2 does', (pattern, good, bad) => {
  const matches = compilePattern(pattern);
  for (const text of good) expect(matches(text), text).toBe(true);
  for (const text of bad) expect(matches(text), text).toBe(false);
});

it.each([
  '(',
  'a)',
  '[a',
  '*',
  'a**',
  '(?=a)',
  '(?<!a)',
  '\\1',
  'a{2000}',
  'a{3,2}',
  '\\',
  '\\p{Nope}',
  '(((a{100}){100}){100})',
])('compilePattern(%j) is refused', (pattern) => expect(() => compilePattern(pattern)).toThrow(PatternError));

it('compilePattern() takes time that grows with the text only', () => {
  const matches = compilePattern('^(([a-z])+.)+[A-Z]([a-z])+$');
  const start = performance.now();
  expect(matches('a'.repeat(20_000))).toBe(false);
  expect(performance.now() - start).toBeLessThan(1000);
});

it('compilePattern() agrees with JavaScript on what both can say', () => {
  const part = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '(a|b)', '(ab)', '\\d', '^', '$', '\\b');
  const sign = fc.constantFrom('', '*', '+', '?', '{2}', '{1,2}', '*?');
  const pattern = fc
    .array(fc.tuple(part, sign), { maxLength: 5 })
    .map((parts) =>
      parts.map(([one, times]) => (one === '^' || one === '$' || one === '\\b' ? one : one + times)).join(''),
    );
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' '), maxLength: 8 });
  fc.assert(
    fc.property(pattern, text, (source, value) => {
      expect(compilePattern(source)(value)).toBe(new RegExp(source).test(value));
    }),
    { numRuns: 2000 },
  );
});
