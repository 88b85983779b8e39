/** docs/security.md names a test for each class of attack: the files are there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = readFileSync(`${ROOT}docs/security.md`, 'utf8');
const attacks = text.slice(text.indexOf('## Attack classes'), text.indexOf('## How the class'));

const files = new Set(
  ['src', 'test'].flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true }).map((name) => `${folder}/${String(name)}`),
  ),
);

const rows = attacks
  .split('\n')
  .filter((line) => line.startsWith('|') && !line.startsWith('| class') && !line.startsWith('| ---'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

it.each(rows.map((cells) => [cells[1]!, cells.at(-2)!]))('%s: has a test', (_what, cell) => {
  const named = [...cell.matchAll(/`([^`]+\.ts)`/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) {
    const isThere = existsSync(`${ROOT}${name}`) || [...files].some((file) => file.endsWith(`/${name}`));
    expect([name, isThere]).toEqual([name, true]);
  }
});
