import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventually } from './eventually.ts';

it('waits for what comes', async () => {
  let looks = 0;
  await eventually(() => expect(++looks).toBe(3));
  expect(looks).toBe(3);
});

it('no test waits only as long as a quiet machine needs', () => {
  const files = execFileSync('git', ['ls-files', 'src', 'test'], { encoding: 'utf8' }).trim().split('\n');
  const impatient = files.filter(
    (file) =>
      file.endsWith('.ts') &&
      !file.startsWith('test/support/eventually') &&
      /\bvi\.waitFor\(|\bvi\.waitUntil\(|expect\s*\.poll\(|expect\(performance\.now\(\)/.test(
        readFileSync(file, 'utf8'),
      ),
  );
  expect(impatient).toEqual([]);
});
