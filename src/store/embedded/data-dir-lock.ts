/**
 * One owner per data directory: a file LOCK that names the process. Taken by creating it, so two openers cannot both
 * have it; a file left behind by a process that is gone is taken over. A process is told from another with the same
 * pid (a restarted container) by when it started.
 */
import { linkSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../files/private-files.ts';
import { StoreError } from '../errors.ts';
import { makeDataDir } from './disk/data-dir.ts';

type Owner = { readonly pid: number; readonly started: string };

/** A takeover takes microseconds; one that is this old was interrupted. */
const STALE_TAKEOVER_MS = 10_000;

let draftCount = 0;

/** Throws Locked, naming the owner's pid; otherwise returns how to let go. */
export function lockDataDir(dataDir: string): () => void {
  makeDataDir(dataDir);
  const file = join(dataDir, 'LOCK');
  const me: Owner = { pid: process.pid, started: startOf(process.pid) };
  if (!tryCreate(file, me)) takeOver(dataDir, file, me);
  return () => {
    // A folder that was removed and made anew under this process may hold the lock of another.
    const owner = readOwner(file);
    if (typeof owner === 'object' && owner.pid === me.pid && owner.started === me.started)
      rmSync(file, { force: true });
  };
}

/** Only one process at a time may judge a left-over lock, or two would each remove the other's fresh one. */
function takeOver(dataDir: string, file: string, me: Owner): void {
  const judging = join(dataDir, 'LOCK.takeover');
  if (Date.now() - modifiedAt(judging) > STALE_TAKEOVER_MS) removeFolder(judging);
  if (!tryMakeFolder(judging)) throw locked(dataDir, 'another process is just opening it');
  try {
    const owner = readOwner(file);
    if (typeof owner === 'object' && isRunning(owner)) throw locked(dataDir, `process ${owner.pid} has it open`);
    // Only what was looked at may go: where nothing was, a newcomer may have put its lock meanwhile.
    if (owner !== 'gone') rmSync(file, { force: true });
    if (!tryCreate(file, me)) throw locked(dataDir, 'another process is just opening it');
  } finally {
    removeFolder(judging);
  }
}

function locked(dataDir: string, why: string): StoreError {
  return new StoreError('Locked', `Cannot open ${JSON.stringify(dataDir)}: ${why}`);
}

/** Linked into place whole: nobody ever sees a lock without its owner's name. */
function tryCreate(file: string, owner: Owner): boolean {
  const draft = `${file}.${owner.pid}.${draftCount++}`;
  writeFileSync(draft, JSON.stringify(owner), { mode: PRIVATE_FILE });
  try {
    linkSync(draft, file);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readOwner(file: string): Owner | 'gone' | 'none of ours' {
  try {
    const owner = JSON.parse(readFileSync(file, 'utf8')) as Owner;
    return Number.isSafeInteger(owner.pid) ? owner : 'none of ours';
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'none of ours';
  }
}

function isRunning({ pid, started }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  if (hasEnded(pid)) return false;
  const now = startOf(pid);
  return started === '' || now === '' || started === now;
}

/** A process that was killed keeps its pid until its parent asks how it ended; it has let go of everything else. */
function hasEnded(pid: number): boolean {
  return statOf(pid)?.[0] === 'Z';
}

/** When a process started, with the boot it started in; '' where the system does not tell. */
function startOf(pid: number): string {
  const ticks = statOf(pid)?.[19];
  if (ticks === undefined) return '';
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${ticks}`;
  } catch {
    return '';
  }
}

/** What Linux tells of a process after its name, which may hold anything: its state comes first. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function tryMakeFolder(folder: string): boolean {
  try {
    mkdirSync(folder, PRIVATE_FOLDER);
    return true;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw err;
  }
}

function modifiedAt(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
}

function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // another opener was faster: it is gone, which is all that matters
  }
}
