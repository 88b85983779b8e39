/**
 * One owner per file: `<file>.lock` names the process that has it. It is put in place whole, by a link, so two cannot
 * both have it.
 *
 * What a dead process left behind is taken over. On the same host, that is told by the process table (with the time of
 * its start, since numbers come round); a lock of another host, such as of the pod before, by its age: an owner touches
 * its lock from time to time, and one that has not for a minute is gone.
 */
import { link, mkdir, readFile, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { CheckpointError } from './checkpoint-error.ts';

export type FileLock = {
  /** Says that the owner lives; to be called every few seconds. */
  touch(): Promise<void>;
  release(): Promise<void>;
};

type Owner = { readonly host: string; readonly pid: number; readonly started: string };

const STALE_MS = 60_000;
/** Judging takes milliseconds; one that is this old was interrupted. */
const STALE_JUDGING_MS = 10_000;
let draftCount = 0;

/** Throws `Locked`, and names the owner. */
export async function lockFile(file: string): Promise<FileLock> {
  const lock = `${file}.lock`;
  const me: Owner = { host: hostname(), pid: process.pid, started: await startOf(process.pid) };
  if (!(await tryCreate(lock, me))) await takeOver(file, lock, me);
  return {
    touch: async () => {
      const now = new Date();
      await utimes(lock, now, now);
    },
    release: () => rm(lock, { force: true }),
  };
}

/** Only one at a time may judge a lock, or two would each remove the other's fresh one. */
async function takeOver(file: string, lock: string, me: Owner): Promise<void> {
  const judging = `${lock}.judging`;
  if ((await ageOf(judging)) > STALE_JUDGING_MS) await rmdir(judging).catch(() => {}); // another was faster
  try {
    await mkdir(judging, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw locked(file, 'another process is just opening it');
  }
  try {
    const owner = await readOwner(lock);
    if (owner && (await isAlive(owner, lock))) throw locked(file, `process ${owner.pid} on ${owner.host} has it open`);
    if (owner !== undefined) await rm(lock, { force: true });
    if (!(await tryCreate(lock, me))) throw locked(file, 'another process is just opening it');
  } finally {
    await rmdir(judging).catch(() => {});
  }
}

function locked(file: string, why: string): CheckpointError {
  return new CheckpointError('Locked', `Cannot use checkpoint ${JSON.stringify(file)}: ${why}`);
}

async function tryCreate(lock: string, owner: Owner): Promise<boolean> {
  const draft = `${lock}.${owner.pid}.${draftCount++}`;
  await writeFile(draft, JSON.stringify(owner), { mode: 0o600 });
  try {
    await link(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Undefined if there is no lock any more, null if nobody's name is in it. */
async function readOwner(lock: string): Promise<Owner | null | undefined> {
  try {
    const owner = JSON.parse(await readFile(lock, 'utf8')) as Owner;
    return Number.isSafeInteger(owner?.pid) ? owner : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : null;
  }
}

async function isAlive({ host, pid, started }: Owner, lock: string): Promise<boolean> {
  if (host !== hostname()) return (await ageOf(lock)) < STALE_MS;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = await startOf(pid);
  return now !== 'ended' && (started === '' || now === '' || started === now);
}

/** When a process began, and in which boot; '' where the system does not tell. */
async function startOf(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' '); // its name may hold anything
    if (fields[0] === 'Z') return 'ended'; // nobody has asked yet how
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()}/${fields[19]}`;
  } catch {
    return '';
  }
}

async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
