import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { RotatingFile } from './rotating-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'longwatch-rotating-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a file is read again when it is old, and kept while it is gone', async () => {
  const clock = new FakeClock();
  const path = join(folder, 'token');
  const file = new RotatingFile(path, 'a token', { clock, maxAgeMs: 1000 });
  await expect(file.text()).rejects.toThrow(`Cannot read "${path}" (a token): `);
  writeFileSync(path, 'one');
  expect(await file.text()).toBe('one');
  writeFileSync(path, 'two');
  expect(await file.text()).toBe('one');
  await clock.advance(1000);
  expect(await file.text()).toBe('two');
  rmSync(path);
  file.expire();
  expect(await file.text()).toBe('two');
  writeFileSync(path, '');
  file.expire();
  expect(await file.text()).toBe('two');
});
