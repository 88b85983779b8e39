import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lockFile } from './file-lock.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longwatch-test-'));
  file = join(folder, 'f');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('a file has one owner until it lets go', async () => {
  const lock = await lockFile(file);
  await expect(lockFile(file)).rejects.toMatchObject({
    code: 'Locked',
    message: `Cannot use checkpoint ${JSON.stringify(file)}: process ${process.pid} on ${hostname()} has it open`,
  });
  await lock.release();
  await (await lockFile(file)).release();
  expect(await readdir(folder)).toEqual([]);
});

it('of many that come at once, one gets it', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockFile(file)));
  expect(tries.filter(({ status }) => status === 'fulfilled').length).toBe(1);
});

it.each<[whose: string, owner: object | string]>([
  ['a process that is gone', { host: hostname(), pid: 2 ** 22 + 1, started: '' }],
  ['a process whose number another has now', { host: hostname(), pid: process.pid, started: 'another boot/1' }],
  ['nobody', 'not json'],
])('the lock of %s is taken over', async (_whose, owner) => {
  await writeFile(`${file}.lock`, typeof owner === 'string' ? owner : JSON.stringify(owner));
  const lock = await lockFile(file);
  expect(JSON.parse(await readFile(`${file}.lock`, 'utf8'))).toMatchObject({ pid: process.pid });
  await lock.release();
});

it('the lock of another host is believed while it is touched', async () => {
  await writeFile(`${file}.lock`, JSON.stringify({ host: 'elsewhere', pid: 1, started: '' }));
  await expect(lockFile(file)).rejects.toThrow('process 1 on elsewhere has it open');
  const past = new Date(Date.now() - 120_000);
  await utimes(`${file}.lock`, past, past);
  const lock = await lockFile(file);
  await utimes(`${file}.lock`, past, past);
  await lock.touch();
  await expect(lockFile(file)).rejects.toMatchObject({ code: 'Locked' });
  await lock.release();
});
