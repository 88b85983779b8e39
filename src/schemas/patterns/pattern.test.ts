import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
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
  ['(?i)^[^a]$', ['b'], ['a', 'A']],
  ['(?i)^\\x{e4}k$', ['ÄK', 'äK'], ['ak']],
  ['^[\\p{Greek}\\d]+$', ['αβ1'], ['ab']],
  ['^\\P{L}$', ['1'], ['ä', 'a']],
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
  const compiled = compilePattern(pattern);
  for (const text of good) expect(compiled.matches(text), text).toBe(true);
  for (const text of bad) expect(compiled.matches(text), text).toBe(false);
});

it.each<[pattern: string, why: string]>([
  ['(', 'missing closing ): `(`'],
  ['a)', 'unexpected ): `a)`'],
  ['[a', 'missing closing ]: `[a`'],
  ['*', 'missing argument to repetition operator: `*`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?<!a)', 'invalid or unsupported Perl syntax: `(?<`'],
  ['\\1', 'invalid escape sequence: `\\1`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['a{3,2}', 'invalid repeat count: `{3,2}`'],
  ['(a{100}){11}', 'invalid repeat count: `{11}`'],
  ['(.{0,100}){0,90}Z$', 'invalid repeat count: `{0,90}`'],
  ['\\', 'trailing backslash at end of expression'],
  ['\\p{Nope}', 'invalid character class range: `\\p{Nope}`'],
  ['\\p{Alphabetic}', 'invalid character class range: `\\p{Alphabetic}`'],
  ['[z-a]', 'invalid character class range: `z-a`'],
])('compilePattern(%j) is refused as Go refuses it', (pattern, why) => {
  expect(() => compilePattern(pattern)).toThrow(new PatternError(`error parsing regexp: ${why}`));
});

it.each<[claim: string, pattern: string, why: string]>([
  ['nests too deeply', `${'('.repeat(1001)}a${')'.repeat(1001)}`, 'expression nests too deeply'],
  ['is too large with its counts written out', 'a{1000}'.repeat(21), 'expression too large'],
  ['is too long', 'a'.repeat(10_001), 'expression too large'],
  [
    'has classes that are too large',
    Array.from({ length: 200 }, (_, i) => `[\\pL${i}]`).join(''),
    'expression too large',
  ],
])('a pattern that %s is refused', (_claim, pattern, why) => {
  expect(() => compilePattern(pattern)).toThrow(why);
});

it.each<[pattern: string, text: string, want: [number, number] | undefined]>([
  ['a+b|a', 'xxaaab', [2, 6]],
  ['a|a+b', 'xxaaab', [2, 3]],
  ['a+?', 'xaaa', [1, 2]],
  ['(?U)a+', 'xaaa', [1, 2]],
  ['^b', 'ab', undefined],
  ['\\bc', 'ab c', [3, 4]],
  ['.$', 'x😀', [1, 3]],
  ['', 'a', [0, 0]],
])('find() of %j in %j is the first that the pattern prefers', (pattern, text, want) => {
  const found = compilePattern(pattern).find(text, 0);
  expect(found && [found.start, found.end]).toEqual(want);
});

/** One for texts that repeat themselves, one for texts whose every character leads somewhere new. */
const alphabets: Record<string, (i: number) => string> = {
  'one letter beyond ASCII': () => 'ä',
  'letters beyond ASCII in no order': (i) => (Math.imul(i, 2654435761) & 0x10000 ? 'ä' : 'ö'),
  'ever other letters': (i) => String.fromCodePoint(0x4e00 + (i % 20_000)),
  'letters of two places': (i) => String.fromCodePoint(0x1d400 + (i % 300)),
};
it.each(Object.keys(alphabets))('a pattern takes time in proportion to a text of %s', async (name) => {
  const pattern = compilePattern('(.{0,25}){0,25}Z$|ä.{200}Y$');
  await expectLinear(`matching a text of ${name}`, {
    make: (size) => Array.from({ length: size }, (_, i) => alphabets[name]!(i)).join(''),
    run: (text) => expect(pattern.matches(text)).toBe(false),
    from: 500,
    limit: 64_000,
  });
});

it('the meter is told of every step, and can end the work', () => {
  const text = Array.from({ length: 5000 }, (_, i) => alphabets['letters beyond ASCII in no order']!(i)).join('');
  let steps = 0;
  const meter = {
    chargeSteps: (more: number) => {
      steps += more;
      if (steps > 100_000) throw new Error('enough');
    },
  };
  expect(() => compilePattern('ä.{900}Z$').matches(text, meter)).toThrow('enough');
  expect(steps).toBeLessThan(110_000);
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
      expect(compilePattern(source).matches(value)).toBe(new RegExp(source).test(value));
    }),
    { numRuns: 2000 },
  );
});
