/**
 * The folder that a store lives in: made with everything above it that is missing, for its owner only, and flushed with
 * those above it. What the file system refuses becomes an error that says what to do.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { makePrivateFolder } from '../../../files/private-files.ts';
import { StoreError, type StoreErrorCode } from '../../errors.ts';

export function makeDataDir(dataDir: string): void {
  try {
    makePrivateFolder(dataDir);
  } catch (err) {
    throw fileSystemError(err, dataDir);
  }
}

/** With all above it, any of which may have been made a moment ago; those that are not ours to flush were there before. */
export function syncFoldersUpFrom(folder: string): void {
  syncFolder(folder);
  for (let above = dirname(folder); ; above = dirname(above)) {
    try {
      syncFolder(above);
    } catch {
      return;
    }
    if (above === dirname(above)) return;
  }
}

/** What was put into a folder, or renamed in it, is there after a power cut only once the folder itself is flushed. */
export function syncFolder(folder: string): void {
  syncFile(folder);
}

export function syncFile(file: string): void {
  const fd = openSync(file, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const REFUSALS: Readonly<Record<string, readonly [StoreErrorCode, string]>> = {
  ENOSPC: ['NoSpace', 'the disk is full; make room, and open it again'],
  EDQUOT: ['NoSpace', 'the quota of the disk is used up; make room, and open it again'],
  EROFS: ['ReadOnly', 'its file system is mounted read-only; mount it for writing, or use another directory'],
  EPERM: ['ReadOnly', 'the system does not let it be written; see whether it is immutable (lsattr) or sealed'],
  EACCES: ['ReadOnly', 'this user may not write it; give it to the user that runs the store'],
  EEXIST: ['InvalidArgument', 'it is a file, not a directory'],
  ENOTDIR: ['InvalidArgument', 'a part of its path is a file, not a directory'],
  ENOENT: ['InvalidArgument', 'no directory can be made there'],
  ENAMETOOLONG: ['InvalidArgument', 'its name is too long'],
  ELOOP: ['InvalidArgument', 'its path leads round in a circle'],
  EIO: ['Corrupt', 'the disk fails to read or write it; look after the disk, then restore a snapshot'],
};

/** A refusal of the system, when something of a store was to be opened; anything else as it is. */
export function fileSystemError(err: unknown, path: string): unknown {
  const { code = '', message } = err as NodeJS.ErrnoException;
  const refusal = err instanceof StoreError ? undefined : REFUSALS[code];
  if (!refusal) return err;
  const [storeCode, advice] = refusal;
  return new StoreError(storeCode, `Cannot open ${JSON.stringify(path)}: ${advice} (${message})`, { cause: err });
}
