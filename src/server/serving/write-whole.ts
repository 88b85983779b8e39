/**
 * Writes small files so that a reader, or a crash, finds the old text or the new one and never half of it. Nobody but
 * their owner may read them. In a folder that is thrown away (`durability: 'none'`) they are not flushed: no crash is outlived there.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makePrivateFolder, PRIVATE_FILE } from '../../files/private-files.ts';

export type Durability = 'fsync' | 'none';

export function writeWhole(file: string, text: string, durability: Durability = 'fsync'): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    makePrivateFolder(dirname(file));
    rmSync(temporary, { force: true });
    const handle = openSync(temporary, 'wx', PRIVATE_FILE);
    try {
      writeFileSync(handle, text);
      if (durability === 'fsync') fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, file);
  } catch (err) {
    rmSync(temporary, { force: true });
    throw new Error(`Cannot write "${file}": ${(err as Error).message}`, { cause: err });
  }
}
