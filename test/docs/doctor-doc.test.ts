/** Every cause that the doctor can name has its place in docs/cli.md, and a test that puts that fault in. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CAUSES } from '../../src/cli/commands/doctor/finding.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

it('docs/cli.md names the causes of the doctor, and no others', () => {
  const page = read('docs/cli.md');
  const section = page.slice(page.indexOf('## `doctor`'), page.indexOf('## `stress`'));
  const rows = section.split('\n').filter((line) => line.startsWith('|') && line.split('|').length === 5);
  const named = rows.flatMap((row) => [...row.split('|')[3]!.matchAll(/`([a-z0-9-]+)`/g)].map(([, cause]) => cause));
  expect([...new Set(named)].sort()).toEqual([...CAUSES].sort());
});

it('every cause is expected by a test', () => {
  const beside = readdirSync(new URL('src/cli/commands/doctor/', root)).map(
    (name) => `src/cli/commands/doctor/${name}`,
  );
  const verbs = readdirSync(new URL('test/e2e/verbs/', root)).map((name) => `test/e2e/verbs/${name}`);
  const tests = [...beside, ...verbs]
    .filter((path) => /doctor.*\.test\.ts$/.test(path))
    .map(read)
    .join('\n');
  expect(CAUSES.filter((cause) => !tests.includes(`'${cause}'`))).toEqual([]);
});
