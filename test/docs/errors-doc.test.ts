/** docs/errors.md promises a row for every code a caller may branch on. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const union = /export type StoreErrorCode =([^;]+);/.exec(read('src/store/errors.ts'))?.[1] ?? '';
const codes = [...union.matchAll(/'(\w+)'/g)].map((match) => match[1]!);
const rows = read('docs/errors.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').slice(1, -1));

it('docs/errors.md has one row for each StoreErrorCode, in the order of the code', () => {
  expect(codes).not.toEqual([]);
  expect(rows.map(([code]) => code!.trim())).toEqual(codes.map((code) => `\`${code}\``));
});

it.each(rows.map((row) => [row[0]!.trim(), row] as const))('docs/errors.md says everything about %s', (_code, row) => {
  expect(row).toHaveLength(4);
  for (const cell of row) expect(cell.trim()).not.toBe('');
});
