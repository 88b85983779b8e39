/** docs/features.md: rows in order, and what it says that we have is shown by a test of that name. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const path = (name: string) => new URL(`../../${name}`, import.meta.url);
const rows = readFileSync(path('docs/features.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| \d+ \|/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

it('docs/features.md has its rows in order, each with a cell for everybody', () => {
  expect(rows.length).toBeGreaterThan(90);
  expect(rows.map(([number]) => Number(number))).toEqual(Array.from(rows, (_, i) => i + 1));
  for (const row of rows) expect(row, row.join(' | ')).toHaveLength(9);
});

it.each(rows.map(([number, feature, ours]) => [number!, feature!, ours!] as const))(
  'docs/features.md, %s, %s: what is ours is shown',
  (_number, _feature, ours) => {
    const links = [...ours.matchAll(/\]\(\.\.\/([^ )]+) "([^"]+)"\)/g)];
    if (ours.startsWith('yes')) expect(links).not.toEqual([]);
    for (const [, file, title] of links) {
      expect(existsSync(path(file!)), file).toBe(true);
      expect(readFileSync(path(file!), 'utf8'), file).toContain(title!);
    }
  },
);
