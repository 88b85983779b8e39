import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { type VersionCheckpointOptions, versionCheckpoint } from './version-checkpoint.ts';

let folder: string;
let file: string;
let errors: string[];
let clock: FakeClock;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longwatch-test-'));
  file = join(folder, 'f');
  errors = [];
  clock = new FakeClock();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const make = (options: VersionCheckpointOptions = {}) =>
  versionCheckpoint(file, { clock, onError: ({ message }) => void errors.push(message), ...options });

it('the newest version is written, at most once in a while, and found by the next process', async () => {
  const checkpoint = make();
  expect(await checkpoint.load()).toBeUndefined();
  for (let version = 1; version <= 50; version++) checkpoint.save(`${version}`);
  await clock.advance(999);
  expect(await make().load()).toBeUndefined();
  await clock.advance(1);
  await checkpoint.flush();
  expect(await make().load()).toBe('50');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  checkpoint.save('51');
  await checkpoint[Symbol.asyncDispose]();
  expect(await make().load()).toBe('51');
  expect(clock.sleeping).toBe(0);
  await checkpoint.clear();
  expect(await make().load()).toBeUndefined();
  expect(errors).toEqual([]);
});

it('what is damaged, or of something else, is told and counts as none', async () => {
  const checkpoint = make({ of: 'pods' });
  checkpoint.save('7');
  await checkpoint.flush();
  expect(await make({ of: 'nodes' }).load()).toBeUndefined();
  expect(errors).toEqual([expect.stringContaining('it is of "pods", and not "nodes"')]);
  const text = await readFile(file, 'utf8');
  for (let cut = 0; cut < text.length; cut++) {
    await writeFile(file, text.slice(0, cut));
    expect(await make({ of: 'pods' }).load()).toBeUndefined();
  }
  expect(errors.length).toBe(1 + text.length);
  await checkpoint[Symbol.asyncDispose]();
});

it('a disk that fails is told, and the next version is tried again', async () => {
  const checkpoint = versionCheckpoint(join(folder, 'missing', 'f'), {
    clock,
    onError: ({ message, code }) => void errors.push(`${code} ${message}`),
  });
  checkpoint.save('1');
  await checkpoint.flush();
  await checkpoint.flush();
  expect(errors).toEqual([expect.stringMatching(/^Disk Cannot write checkpoint .*ENOENT/), errors[0]]);
  await checkpoint[Symbol.asyncDispose]();
});
