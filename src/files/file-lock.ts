/**
 * One owner per file: a lock file names the process that has it. It is put in place whole, by a link, so two cannot
 * both have it, and nobody ever sees one without its owner's name.
 *
 * What a dead process left behind is taken over. A process is told from another with the same number (a restarted
 * container) by when it started, in which boot. Where processes of many hosts come to the same file, the owner's host is
 * in its lock, and a lock of another host is judged by its age: an owner touches its lock from time to time, and one that
 * has not for a minute is gone. Fails with the error that the caller makes of the reason.
 */
import { link, mkdir, readFile, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './private-files.ts';

export type FileLock = {
  /** Says that the owner lives; to be called every few seconds where there are many hosts. */
  touch(): Promise<void>;
  release(): Promise<void>;
};

export type FileLockOptions = {
  /** Makes the error of a lock that cannot be had. */
  readonly refuse: (why: string) => Error;
  /** Processes of other hosts use the file, too: false. */
  readonly hasManyHosts?: boolean;
};

type Owner = { readonly host?: string; readonly pid: number; readonly started: string };

const STALE_MS = 60_000;
/** Judging takes milliseconds; one that is this old was interrupted. */
const STALE_TAKEOVER_MS = 10_000;
let draftCount = 0;

/** `lock` is the lock file itself. */
export async function lockFile(lock: string, { refuse, hasManyHosts = false }: FileLockOptions): Promise<FileLock> {
  const { started } = await processStat(process.pid);
  const me: Owner = { ...(hasManyHosts && { host: hostname() }), pid: process.pid, started };
  if (!(await tryCreate(lock, me))) await takeOver(lock, me, refuse);
  return {
    touch: async () => {
      const now = new Date();
      await utimes(lock, now, now);
    },
    release: async () => {
      // A folder that was removed and made anew under this process may hold the lock of another.
      const owner = await readOwner(lock);
      const isMine = typeof owner === 'object' && owner.pid === me.pid && owner.started === me.started;
      if (isMine && owner.host === me.host) await rm(lock, { force: true });
    },
  };
}

/** Only one process at a time may judge a left-over lock, or two would each remove the other's fresh one. */
async function takeOver(lock: string, me: Owner, refuse: (why: string) => Error): Promise<void> {
  const judging = `${lock}.takeover`;
  if ((await ageOf(judging)) > STALE_TAKEOVER_MS) await removeFolder(judging);
  if (!(await tryMakeFolder(judging))) throw refuse('another process is just opening it');
  try {
    const owner = await readOwner(lock);
    if (typeof owner === 'object' && (await isAlive(owner, lock))) {
      const where = owner.host === undefined ? '' : ` on ${owner.host}`;
      throw refuse(`process ${owner.pid}${where} has it open`);
    }
    // Only what was looked at may go: where nothing was, a newcomer may have put its lock meanwhile.
    if (owner !== 'gone') await rm(lock, { force: true });
    if (!(await tryCreate(lock, me))) throw refuse('another process is just opening it');
  } finally {
    await removeFolder(judging);
  }
}

async function tryCreate(lock: string, owner: Owner): Promise<boolean> {
  const draft = `${lock}.${owner.pid}.${draftCount++}`;
  try {
    await writeFile(draft, JSON.stringify(owner), { mode: PRIVATE_FILE });
    await link(draft, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readOwner(lock: string): Promise<Owner | 'gone' | 'none of ours'> {
  try {
    const owner = JSON.parse(await readFile(lock, 'utf8')) as Owner;
    return Number.isSafeInteger(owner.pid) ? owner : 'none of ours';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'none of ours';
  }
}

async function isAlive({ host, pid, started }: Owner, lock: string): Promise<boolean> {
  if (host !== undefined && host !== hostname()) return (await ageOf(lock)) < STALE_MS;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const now = await processStat(pid);
  return !now.hasEnded && (started === '' || now.started === '' || started === now.started);
}

/**
 * When a process started, with the boot it started in; '' where the system does not tell. One that was killed keeps its
 * number until its parent asks how it ended, and has let go of everything else.
 */
async function processStat(pid: number): Promise<{ started: string; hasEnded: boolean }> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' '); // its name may hold anything
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return { started: boot === '' ? '' : `${boot.trim()}/${fields[19]}`, hasEnded: fields[0] === 'Z' };
  } catch {
    return { started: '', hasEnded: false };
  }
}

async function tryMakeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, PRIVATE_FOLDER);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function removeFolder(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {}); // another was faster: it is gone, which is all that matters
}

/** In milliseconds; 0 where nothing is. */
async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
