import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePrivateFolder } from './private-files.ts';

let folder: string;
let umask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-private-'));
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true, force: true });
});

it('makePrivateFolder() makes every folder on the way for its owner only, whatever the umask', () => {
  makePrivateFolder(join(folder, 'a', 'b'));
  makePrivateFolder(join(folder, 'a', 'b'));
  for (const name of ['a', 'a/b']) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o700);
});

it('makePrivateFolder() leaves a folder that is there as it is', () => {
  const { mode } = statSync(tmpdir());
  makePrivateFolder(tmpdir());
  expect(statSync(tmpdir()).mode).toBe(mode);
});

it('makePrivateFolder() says at once where there can be no folder', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(() => makePrivateFolder(join(folder, 'file'))).toThrow(/EEXIST/);
  expect(() => makePrivateFolder(join(folder, 'file', 'x', 'y'))).toThrow(/ENOTDIR|EEXIST/);
});

it.runIf(process.platform === 'linux')('makePrivateFolder() does not try for ever where Node’s own would', () => {
  for (const one of ['/proc/xx', '/proc/xx/yy']) expect(() => makePrivateFolder(one)).toThrow(/ENOENT/);
});
