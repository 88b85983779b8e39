import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

it('lines are the same however the bytes are cut', () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => JSON.stringify({ text }));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(40)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const splitter = new LineSplitter(1e6);
      const got: string[] = [];
      let from = 0;
      for (const cut of [...cuts, bytes.length]) {
        splitter.take(bytes.subarray(from, from + cut), (text, encoding) => got.push(text.toString(encoding)));
        from = Math.min(from + cut, bytes.length);
      }
      expect(got).toEqual(lines);
      expect(splitter.rest).toBe(0);
    }),
  );
});

it('an unfinished line is held, and empty ones are left out', () => {
  const splitter = new LineSplitter(100);
  expect(linesIn(splitter, '\n\r\na\nbc')).toEqual(['a']);
  expect(splitter.rest).toBe(2);
  expect(linesIn(splitter, 'd\n')).toEqual(['bcd']);
});

it.each([
  ['in one chunk', ['12345678901\n']],
  ['over many', ['12345', '67890', '1']],
])('a line that is too long is refused, %s', (_claim, chunks) => {
  const splitter = new LineSplitter(10);
  expect(() => chunks.map((text) => linesIn(splitter, text))).toThrow('a line has more than 10 bytes');
});

it('what comes before a line that is too long is told', () => {
  const got: string[] = [];
  expect(() =>
    new LineSplitter(5).take(Buffer.from('1\n2\n1234567\n'), (line, encoding) => got.push(line.toString(encoding))),
  ).toThrow('5 bytes');
  expect(got).toEqual(['1', '2']);
});

function linesIn(splitter: LineSplitter, text: string): string[] {
  const got: string[] = [];
  splitter.take(Buffer.from(text), (line, encoding) => got.push(line.toString(encoding)));
  return got;
}
