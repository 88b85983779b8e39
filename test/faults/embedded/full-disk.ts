/**
 * A disk of its own whose size can be changed while it is in use, as others fill and empty a real one: a file system in
 * memory. Only root may mount one; where that is not allowed there is none, and the tests that need it say so.
 */
import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type FullDisk = AsyncDisposable & {
  readonly path: string;
  /** Others take all but so many bytes. */
  fill(leftBytes: number): void;
  /** Others are gone. */
  empty(): void;
  setReadOnly(isReadOnly: boolean): void;
};

const WHOLE_BYTES = 512 * 1024 * 1024;

/** Whether this process may mount. */
export const canMount: boolean = (() => {
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

export async function mountDisk(): Promise<FullDisk> {
  const path = await mkdtemp(join(tmpdir(), 'longwatch-disk-'));
  const mount = (options: string) => execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
  mount(`size=${WHOLE_BYTES}`);
  const setSize = (bytes: number) => mount(`remount,size=${bytes}`);
  return {
    path,
    fill: (leftBytes) => {
      const { blocks, bfree, bsize } = statfsSync(path);
      setSize((blocks - bfree) * bsize + leftBytes);
    },
    empty: () => setSize(WHOLE_BYTES),
    setReadOnly: (isReadOnly) => mount(`remount,${isReadOnly ? 'ro' : 'rw'}`),
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['--lazy', path]);
      await rm(path, { recursive: true, force: true });
    },
  };
}
