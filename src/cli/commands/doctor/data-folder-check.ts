/** The data folder of a server of ours, where it lies on this machine: who has it, whether others may, and how much room there is. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { showBytes } from '../../terminal/table.ts';
import { type Finding, ok, skipped } from './finding.ts';

const LITTLE_BYTES = 512 * 1024 * 1024;
const NONE_BYTES = 64 * 1024 * 1024;

/** Where it says, or else where the kubeconfig lies: the server writes that into its folder. */
export function dataFolderOf(
  { dataDir, kubeconfig }: { readonly dataDir?: string; readonly kubeconfig?: string },
  { KUBECONFIG }: NodeJS.ProcessEnv,
): string | undefined {
  const file = kubeconfig ?? KUBECONFIG?.split(delimiter)[0];
  return dataDir ?? (file ? dirname(resolve(file)) : undefined);
}

export async function* dataFolderCheck(
  dataDir: string | undefined,
  freeBytesOf: (folder: string) => Promise<number> = freeBytes,
): AsyncGenerator<Finding, void, void> {
  const check = 'data folder';
  if (dataDir === undefined || !existsSync(join(dataDir, 'store'))) {
    yield skipped(check, 'not on this machine, or not known: --data-dir names it');
    return;
  }
  const { mode } = statSync(dataDir);
  if ((mode & 0o077) !== 0)
    yield {
      check,
      level: 'warning',
      cause: 'open-to-others',
      message: `${dataDir} can be read by other users: it holds keys and tokens`,
      remedy: `chmod 700 ${dataDir}`,
    };
  yield holderOf(dataDir);
  const free = await freeBytesOf(dataDir);
  const data = { freeBytes: free };
  if (free >= LITTLE_BYTES) yield ok('disk', `${showBytes(free)} are free`, data);
  else
    yield {
      check: 'disk',
      level: free < NONE_BYTES ? 'failure' : 'warning',
      cause: 'disk-full',
      message: `only ${showBytes(free)} are free beside ${dataDir}`,
      remedy: 'Make room: without any, writes are refused.',
      data,
    };
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function holderOf(dataDir: string): Finding {
  const file = join(dataDir, 'store', 'LOCK');
  let pid: unknown;
  try {
    pid = JSON.parse(readFileSync(file, 'utf8')).pid;
  } catch {
    pid = undefined;
  }
  const size = existsSync(join(dataDir, 'store', 'data.mdb')) ? statSync(join(dataDir, 'store', 'data.mdb')).size : 0;
  if (typeof pid === 'number' && isAlive(pid))
    return ok('data folder', `${dataDir}: ${showBytes(size)}, held by process ${pid}`);
  return {
    check: 'data folder',
    level: 'warning',
    cause: 'not-held',
    message: `${dataDir} is held by no process, so the server that answers is another one`,
    remedy: 'Look at --data-dir of the server, and at the address in the kubeconfig.',
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === 'EPERM';
  }
}
