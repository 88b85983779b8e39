/** The lock among real processes: children are started from a few lines of script, and told to end by their stdin. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type TemporaryDir, temporaryDir } from '../../test/support/temporary-dir.ts';
import { type FileLock, lockFile } from './file-lock.ts';

let dir: TemporaryDir;
let path: string;
beforeEach(async () => {
  dir = await temporaryDir();
  path = join(dir.path, 'LOCK');
});
afterEach(() => dir[Symbol.asyncDispose]());

/** When a lock file is looked at: what the file system's other users do just before and after. */
const around = vi.hoisted(() => ({ before: async () => {}, after: async () => {} }));
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>();
  const readFile = async (...args: Parameters<typeof fs.readFile>) => {
    if (!String(args[0]).endsWith('LOCK')) return fs.readFile(...args);
    const { before, after } = around;
    Object.assign(around, { before: async () => {}, after: async () => {} });
    await before();
    try {
      return await fs.readFile(...args);
    } finally {
      await after();
    }
  };
  return { ...fs, readFile };
});

class Refused extends Error {}
const refuse = (why: string) => new Refused(why);
const lock = () => lockFile(path, { refuse });
const lockAmongHosts = () => lockFile(path, { refuse, hasManyHosts: true });
const lockAndRelease = async () => (await lock()).release();
const put = (owner: object | string) => writeFileSync(path, typeof owner === 'string' ? owner : JSON.stringify(owner));
const ownerNow = () => JSON.parse(readFileSync(path, 'utf8')) as { pid: number; started: string };

const moduleUrl = pathToFileURL(join(import.meta.dirname, 'file-lock.ts')).href;

/** Takes the lock when a line comes in, says how it went, holds on until its stdin ends, lets go if it had it. */
const contender = `
  import { lockFile } from ${JSON.stringify(moduleUrl)};
  process.stdout.write('ready\\n');
  let lock;
  process.stdin.once('data', async () => {
    try {
      lock = await lockFile(process.argv[1], { refuse: (why) => new Error(why) });
      process.stdout.write('owner\\n');
    } catch (err) {
      process.stdout.write('refused\\n');
    }
  });
  process.stdin.once('end', () => lock?.release());
`;

async function startContender(): Promise<{ child: ChildProcess; tryLock(): Promise<string> }> {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', contender, path];
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

describe('the lock of a file', () => {
  it('is held by one, and free again when it lets go', async () => {
    const held = await lock();
    await expect(lock()).rejects.toThrow(new Refused(`process ${process.pid} has it open`));
    await held.release();
    expect(readdirSync(dir.path)).toEqual([]);
    await lockAndRelease();
  });

  it('goes to one of many that come at once', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 8 }, lock));
    expect(tries.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  it('refuses another process, naming the one that has it', async () => {
    const { child, tryLock } = await startContender();
    expect(await tryLock()).toBe('owner');
    await expect(lock()).rejects.toThrow(new Refused(`process ${child.pid} has it open`));
    await end(child, 'let go');
    await lockAndRelease();
  });

  it('is taken over from a process that was killed', async () => {
    const { child, tryLock } = await startContender();
    expect(await tryLock()).toBe('owner');
    await end(child, 'kill');
    expect(existsSync(path)).toBe(true);
    const held = await lock();
    expect(ownerNow()).toMatchObject({ pid: process.pid });
    await held.release();
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it.runIf(existsSync('/proc/self/stat'))('is taken over from a process that has ended unnoticed', async () => {
    // The shell becomes a program that never asks how its child ended.
    const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = Number(String((await once(parent.stdout, 'data'))[0]));
    // Where SIGCHLD is ignored nobody has to ask: then it is simply gone, which must do as well.
    const stat = `/proc/${pid}/stat`;
    const hasEnded = () => !existsSync(stat) || readFileSync(stat, 'utf8').split(') ')[1]![0] === 'Z';
    await eventually(() => expect(hasEnded()).toBe(true));
    put({ pid, started: '' });
    await lockAndRelease();
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });

  it.runIf(existsSync('/proc/self/stat'))('is taken over from one whose number another process has now', async () => {
    const mine = await lock();
    const { started } = ownerNow();
    await mine.release();
    for (const other of [`${started}1`, started.replace(/^./, 'x')]) {
      put({ pid: process.pid, started: other });
      await lockAndRelease();
    }
  });

  it('is refused when the owner lives and nobody knows when it started', async () => {
    put({ pid: process.pid, started: '' });
    await expect(lock()).rejects.toThrow(`process ${process.pid} has it open`);
  });

  it.each(['', '{', '{"pid":"x"}', 'null'])('is taken over from a file that names nobody: %j', async (content) => {
    put(content);
    await lockAndRelease();
  });

  it('goes to exactly one of many that find it left behind', async () => {
    const dead = await startContender();
    await dead.tryLock();
    const contenders = await Promise.all(Array.from({ length: 5 }, startContender));
    await end(dead.child, 'kill');
    const answers = await Promise.all(contenders.map(({ tryLock }) => tryLock()));
    expect(answers.sort()).toEqual(['owner', 'refused', 'refused', 'refused', 'refused']);
    await Promise.all(contenders.map(({ child }) => end(child, 'let go')));
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it('left behind is judged by one at a time', async () => {
    put('{"pid":"nobody"}');
    let rival: Promise<FileLock> | undefined;
    around.after = async () => {
      rival = lock();
      await rival.catch(() => {});
    };
    await lock();
    await expect(rival).rejects.toThrow(new Refused('another process is just opening it'));
  });

  it('is not taken from somebody who got it while we looked at the one that let go', async () => {
    const held = await lock();
    const other = JSON.stringify({ pid: process.ppid, started: '' });
    around.before = () => held.release();
    around.after = async () => put(other);
    await expect(lock()).rejects.toThrow(Refused);
    expect(readFileSync(path, 'utf8')).toBe(other);
  });

  it("is left alone by one who lets go of a file that is another process's now", async () => {
    const held = await lock();
    put({ pid: process.ppid, started: '' });
    await held.release();
    expect(ownerNow()).toMatchObject({ pid: process.ppid });
  });
});

describe('the lock of a file that many hosts use', () => {
  it('names the host', async () => {
    const held = await lockAmongHosts();
    await expect(lockAmongHosts()).rejects.toThrow(`process ${process.pid} on ${hostname()} has it open`);
    await held.release();
    expect(readdirSync(dir.path)).toEqual([]);
  });

  it.each<[whose: string, owner: object]>([
    ['a process that is gone', { host: hostname(), pid: 2 ** 22 + 1, started: '' }],
    ['a process whose number another has now', { host: hostname(), pid: process.pid, started: 'another boot/1' }],
  ])('is taken over from %s', async (_whose, owner) => {
    put(owner);
    const held = await lockAmongHosts();
    expect(ownerNow()).toMatchObject({ pid: process.pid, host: hostname() });
    await held.release();
  });

  it('is believed of another host while it is touched', async () => {
    const past = new Date(Date.now() - 120_000);
    put({ host: 'elsewhere', pid: 1, started: '' });
    await expect(lockAmongHosts()).rejects.toThrow('process 1 on elsewhere has it open');
    utimesSync(path, past, past);
    const held = await lockAmongHosts();
    utimesSync(path, past, past);
    await held.touch();
    expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(60_000);
    await held.release();
  });
});
