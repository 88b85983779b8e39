/** The lock among real processes: children are started from a few lines of script, and told to end by their stdin. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TemporaryDir, temporaryDir } from '../../../test/support/temporary-dir.ts';
import { lockDataDir } from './data-dir-lock.ts';

let dir: TemporaryDir;
let lockFile: string;
beforeEach(async () => {
  dir = await temporaryDir();
  lockFile = join(dir.path, 'LOCK');
});
afterEach(() => dir[Symbol.asyncDispose]());

/** When a lock file is looked at: what the file system's other users do just before and after. */
const around = vi.hoisted(() => ({ before: () => {}, after: () => {} }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const readFile = (...args: Parameters<typeof fs.readFileSync>) => {
    if (!String(args[0]).endsWith('LOCK')) return fs.readFileSync(...args);
    const { before, after } = around;
    Object.assign(around, { before: () => {}, after: () => {} });
    before();
    try {
      return fs.readFileSync(...args);
    } finally {
      after();
    }
  };
  return { ...fs, readFileSync: readFile };
});

const moduleUrl = pathToFileURL(join(import.meta.dirname, 'data-dir-lock.ts')).href;

/** Takes the lock when a line comes in, says how it went, holds on until its stdin ends, lets go if it had it. */
const contender = `
  import { lockDataDir } from ${JSON.stringify(moduleUrl)};
  process.stdout.write('ready\\n');
  let unlock;
  process.stdin.once('data', () => {
    try {
      unlock = lockDataDir(process.argv[1]);
      process.stdout.write('owner\\n');
    } catch (err) {
      process.stdout.write(err.code + '\\n');
    }
  });
  process.stdin.once('end', () => unlock?.());
`;

async function startContender(): Promise<{ child: ChildProcess; tryLock(): Promise<string> }> {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', contender, dir.path];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = async () => String((await once(child.stdout!, 'data'))[0]).trim();
  expect(await line()).toBe('ready');
  const tryLock = () => {
    child.stdin!.write('go\n');
    return line();
  };
  return { child, tryLock };
}

async function end(child: ChildProcess, how: 'let go' | 'kill'): Promise<void> {
  const ended = once(child, 'exit');
  if (how === 'kill') child.kill('SIGKILL');
  else child.stdin!.end();
  await ended;
}

const locked = (what: string | RegExp) =>
  expect.objectContaining({ name: 'StoreError', code: 'Locked', message: expect.stringMatching(what) });

describe('the lock of a data directory', () => {
  it('is held by one, and free again when it lets go', () => {
    const unlock = lockDataDir(dir.path);
    expect(() => lockDataDir(dir.path)).toThrow(locked(`process ${process.pid} has it open`));
    unlock();
    expect(readdirSync(dir.path)).toEqual([]);
    lockDataDir(dir.path)();
  });

  it('makes the directory if it is not there', () => {
    const unlock = lockDataDir(join(dir.path, 'a', 'b'));
    expect(existsSync(join(dir.path, 'a', 'b', 'LOCK'))).toBe(true);
    unlock();
  });

  it('refuses another process, naming the one that has it', async () => {
    const { child, tryLock } = await startContender();
    expect(await tryLock()).toBe('owner');
    expect(() => lockDataDir(dir.path)).toThrow(locked(`Cannot open ".*": process ${child.pid} has it open`));
    await end(child, 'let go');
    lockDataDir(dir.path)();
  });

  it('is taken over from a process that was killed', async () => {
    const { child, tryLock } = await startContender();
    expect(await tryLock()).toBe('owner');
    await end(child, 'kill');
    expect(existsSync(lockFile)).toBe(true);
    const unlock = lockDataDir(dir.path);
    expect(JSON.parse(readFileSync(lockFile, 'utf8'))).toMatchObject({ pid: process.pid });
    unlock();
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it.runIf(existsSync('/proc/self/stat'))('is taken over from a process that has ended unnoticed', async () => {
    // The shell becomes a program that never asks how its child ended.
    const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = Number(String((await once(parent.stdout, 'data'))[0]));
    // Where SIGCHLD is ignored nobody has to ask: then it is simply gone, which must do as well.
    const stat = `/proc/${pid}/stat`;
    const hasEnded = () => !existsSync(stat) || readFileSync(stat, 'utf8').split(') ')[1]![0] === 'Z';
    await vi.waitUntil(hasEnded);
    writeFileSync(lockFile, JSON.stringify({ pid, started: '' }));
    lockDataDir(dir.path)();
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });

  it('is taken over from a process whose pid somebody else has now', () => {
    const mine = lockDataDir(dir.path);
    const owner = JSON.parse(readFileSync(lockFile, 'utf8')) as { started: string };
    mine();
    for (const started of [`${owner.started}1`, owner.started.replace(/^./, 'x')]) {
      writeFileSync(lockFile, JSON.stringify({ pid: process.pid, started }));
      lockDataDir(dir.path)();
    }
  });

  it('is refused when the owner lives and nobody knows when it started', () => {
    writeFileSync(lockFile, JSON.stringify({ pid: process.pid, started: '' }));
    expect(() => lockDataDir(dir.path)).toThrow(locked(`process ${process.pid} has it open`));
  });

  it.each(['', '{', '{"pid":"x"}', 'null'])('is taken over from a file that names nobody: %j', (content) => {
    writeFileSync(lockFile, content);
    lockDataDir(dir.path)();
  });

  it('goes to exactly one of many that find it left behind', async () => {
    const dead = await startContender();
    await dead.tryLock();
    const contenders = await Promise.all(Array.from({ length: 5 }, startContender));
    await end(dead.child, 'kill');
    const answers = await Promise.all(contenders.map(({ tryLock }) => tryLock()));
    expect(answers.sort()).toEqual(['Locked', 'Locked', 'Locked', 'Locked', 'owner']);
    await Promise.all(contenders.map(({ child }) => end(child, 'let go')));
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it('left behind is judged by one at a time', () => {
    writeFileSync(lockFile, '{"pid":"nobody"}');
    let rival: unknown;
    around.after = () => {
      try {
        lockDataDir(dir.path);
      } catch (err) {
        rival = err;
      }
    };
    lockDataDir(dir.path);
    expect(rival).toEqual(locked('another process is just opening it'));
  });

  it('is not taken from somebody who got it while we looked at the one that let go', () => {
    const letGo = lockDataDir(dir.path);
    const other = JSON.stringify({ pid: process.ppid, started: '' });
    around.before = letGo;
    around.after = () => writeFileSync(lockFile, other);
    expect(() => lockDataDir(dir.path)).toThrow(locked('Cannot open'));
    expect(readFileSync(lockFile, 'utf8')).toBe(other);
  });
});
