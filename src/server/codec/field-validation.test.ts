import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { applyFieldValidation } from './field-validation.ts';
import { readJson } from './json/json-reader.ts';

const faultsIn = (text: string) => {
  const { value, duplicates } = readJson(text);
  return { duplicateFields: duplicates, unknownFields: [['z']], document: value };
};

it('tells unknown and duplicate fields in the order of the document', () => {
  const { value, duplicates } = readJson(
    '{"u":1,"a":{"b":[{"c":1,"c":2,"w":3}],"v":1},"a":{"b":[{"c":1,"c":2}],"v":1}}',
  );
  const unknownFields = [['a', 'v'], ['u']];
  const { warnings } = applyFieldValidation('Warn', { duplicateFields: duplicates, unknownFields, document: value });
  expect(warnings).toEqual([
    'unknown field "u"',
    'duplicate field "a"',
    'duplicate field "a.b[0].c"',
    'duplicate field "a.b[0].c"',
    'unknown field "a.v"',
  ]);
});

it('tells of at most 100, of no path more than its beginning, and of all together no more than 64 KiB', () => {
  const long = 'k'.repeat(700_000);
  const text = `{"${long}":{${Array.from({ length: 200 }, (_, i) => `"a${i}":1,"a${i}":2`).join(',')}}}`;
  const { strictError = '' } = applyFieldValidation('Strict', faultsIn(text));
  expect(strictError).toMatch(/^strict decoding error: .*duplicate field "k+\.\.\."/);
  expect(Buffer.byteLength(strictError)).toBeLessThan(70 * 1024);
  const { warnings } = applyFieldValidation('Warn', faultsIn(text));
  expect(Math.max(...warnings.map((warning) => warning.length))).toBeLessThan(5 * 1024);
  const short = applyFieldValidation('Warn', faultsIn(text.replaceAll(long, 'k')));
  expect(short.warnings).toHaveLength(100);
});

it('takes time in proportion to the document', async () => {
  const make = (size: number) =>
    faultsIn(`{"${'k'.repeat(size)}":{${Array.from({ length: size }, (_, i) => `"a${i}":1`).join(',')},"a0":2}}`);
  const run = (faults: ReturnType<typeof make>) => applyFieldValidation('Strict', faults);
  await expectLinear('applyFieldValidation()', { make, run, from: 500, limit: 4_000 });
});
