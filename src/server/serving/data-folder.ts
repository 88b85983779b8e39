/**
 * The data folder before anything is put into it: made if it is missing, refused in one sentence if it cannot be used,
 * and closed to other users if an older version, or a copy, left it open.
 *
 * Always true: when it returns, what is ours in the folder can be read by this process's user only (and by root), or a
 * line in the log says why not. What is not ours is never touched: a folder that holds other things too (`/tmp`, a home)
 * keeps its own mode, and links are not followed.
 */
import { accessSync, chmodSync, constants, lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { makePrivateFolder, PRIVATE_FILE, PRIVATE_FOLDER } from '../../files/private-files.ts';

/** What a server puts there. */
const OURS = ['store', 'pki', 'admin.token', 'admin.kubeconfig'];
const OTHERS_RIGHTS = 0o077;
const STICKY = 0o1000;

export type DataFolderOptions = {
  /** Files of ours that the operator has named; those in the folder count as ours, rotated ones too. */
  readonly named?: readonly (string | undefined)[];
  readonly log: (line: string) => void;
};

export function prepareDataFolder(dataDir: string, { named = [], log }: DataFolderOptions): void {
  try {
    makePrivateFolder(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (err) {
    throw unusable(dataDir, whyNot(dataDir, err as NodeJS.ErrnoException), err);
  }
  if (process.getuid === undefined) return; // there are no such modes
  if (lstatSync(dataDir).isSymbolicLink())
    log(`the data folder ${quote(dataDir)} is a link to ${quote(realpathSync(dataDir))}`);

  const inFolder = named.filter((file) => file !== undefined && dirname(resolve(file)) === dataDir);
  const isOurs = nameTest([...OURS, ...inFolder.map((file) => basename(file!))]);
  const entries = readdirSync(dataDir);
  const ours = entries.filter(isOurs);
  const tightened =
    closeFolder(dataDir, ours.length === entries.length, log) + closeEntries(dataDir, ours, dataDir, log);
  if (tightened > 0)
    log(
      `closed the data folder ${quote(dataDir)} to other users: they had rights to ${tightened} of its files and folders`,
    );
}

/** Also what is beside a file while it is written or rotated: admin.token.7.tmp, audit.log.1, audit-TIME.log. */
function nameTest(names: readonly string[]): (name: string) => boolean {
  return (name) =>
    names.some(
      (one) => name === one || name.startsWith(`${one}.`) || name.startsWith(`${basename(one, extname(one))}-20`),
    );
}

/** How many it closed. */
function closeFolder(dataDir: string, isOurs: boolean, log: (line: string) => void): number {
  const { mode, uid } = statSync(dataDir);
  const isOwner = uid === process.getuid!();
  if (!isOwner) log(`the data folder ${quote(dataDir)} belongs to user ${uid}, who can move and remove what is in it`);
  if ((mode & OTHERS_RIGHTS) === 0) return 0;
  if (isOwner && isOurs && (mode & STICKY) === 0) {
    chmodSync(dataDir, PRIVATE_FOLDER);
    return 1;
  }
  log(
    `the data folder ${quote(dataDir)} stays open to other users, as it is not ours alone; what is ours in it is not`,
  );
  return 0;
}

function closeEntries(folder: string, names: readonly string[], dataDir: string, log: (line: string) => void): number {
  let tightened = 0;
  for (const name of names) {
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats) continue;
    if (stats.isSymbolicLink()) {
      log(`${quote(path)} is a link: who may read what it leads to is up to you`);
      continue;
    }
    checkOwner(path, stats, dataDir, log);
    if ((stats.mode & OTHERS_RIGHTS) !== 0) {
      chmodSync(path, stats.isDirectory() ? PRIVATE_FOLDER : PRIVATE_FILE);
      tightened++;
    }
    if (stats.isDirectory()) tightened += closeEntries(path, readdirSync(path), dataDir, log);
  }
  return tightened;
}

function checkOwner(path: string, { uid }: Stats, dataDir: string, log: (line: string) => void): void {
  const me = process.getuid!();
  if (uid === me) return;
  if (me === 0) log(`${quote(path)} belongs to user ${uid}, who can read and change it`);
  else {
    const advice = `give it to this user (chown -R ${me} ${dataDir}), run as user ${uid}, or name another folder with --data-dir`;
    throw unusable(dataDir, `${quote(path)} belongs to user ${uid}, and this process runs as user ${me}; ${advice}`);
  }
}

function whyNot(dataDir: string, { code, message }: NodeJS.ErrnoException): string {
  const another = 'name another folder with --data-dir';
  const blocked = whatIsNoFolder(dataDir);
  if (blocked !== undefined) return `${quote(blocked)} is not a folder; move it away, or ${another}`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return `user ${process.getuid?.()} may not write there; give the folder to this user (chown), or ${another}`;
    case 'EROFS':
      return `it is on a file system that is read-only; mount that for writing, or ${another}`;
    case 'ENOSPC':
      return `the disk is full; make room, or ${another}`;
    case 'ENOENT':
      return `no folder can be made there; ${another}`;
    default:
      return `${message}; ${another}`;
  }
}

/** What stands in the way of a folder, a link that leads nowhere too. */
function whatIsNoFolder(dataDir: string): string | undefined {
  for (let at = dataDir; ; at = dirname(at)) {
    try {
      if (lstatSync(at, { throwIfNoEntry: false }))
        return statSync(at, { throwIfNoEntry: false })?.isDirectory() ? undefined : at;
    } catch {
      // below a file, or where one may not look
    }
    if (dirname(at) === at) return undefined;
  }
}

function unusable(dataDir: string, why: string, cause?: unknown): Error {
  return new Error(`Cannot keep data in ${quote(dataDir)}: ${why}`, { cause });
}

function quote(text: string): string {
  return JSON.stringify(text);
}
