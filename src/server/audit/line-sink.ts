/**
 * The file under a LineFile: one open handle that appends, knows whether it is still the file of its name, and can be
 * set aside as `name-TIME.ext`, of which the newest few are kept.
 *
 * Always true: it is made readable by its owner only; one that is there keeps the mode it was given. Half a line that a
 * full disk left behind is ended before the next, so that every other line stays whole.
 */
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { PRIVATE_FILE } from '../../files/private-files.ts';

export interface LineSink {
  readonly sizeBytes: number;
  append(text: string): Promise<void>;
  isCurrent(): Promise<boolean>;
  /** It is not the current one after that. */
  setAside(): Promise<void>;
  close(): Promise<void>;
}

export type OpenSink = () => Promise<LineSink>;

/** `maxBackups`: how many that were set aside are kept; 0 keeps all. */
export async function openLineSink(file: string, maxBackups: number): Promise<LineSink> {
  const handle = await open(file, 'a', PRIVATE_FILE).catch((err: NodeJS.ErrnoException) => {
    const why = err.code === 'ENOENT' ? 'its directory does not exist' : err.message;
    throw new Error(`Cannot write to "${file}": ${why}`, { cause: err });
  });
  const { ino, dev, size } = await handle.stat();
  let sizeBytes = size;
  let isTorn = false;
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    async append(text) {
      try {
        await handle.appendFile(isTorn ? `\n${text}` : text);
        sizeBytes += Buffer.byteLength(text);
        isTorn = false;
      } catch (err) {
        const now = (await handle.stat()).size;
        isTorn ||= now > sizeBytes;
        sizeBytes = now;
        throw err;
      }
    },
    async isCurrent() {
      const found = await stat(file).catch(() => undefined);
      if (found?.ino !== ino || found.dev !== dev) return false;
      sizeBytes = found.size; // somebody may have emptied it
      return true;
    },
    async setAside() {
      await rename(file, asideName(file, new Date()));
      if (maxBackups > 0) await removeOldest(file, maxBackups);
    },
    close: () => handle.close(),
  };
}

/** audit.log is set aside as audit-2026-01-31T10-20-30.400.log, as kube-apiserver names them. */
function asideName(file: string, at: Date): string {
  const { folder, stem, extension } = partsOf(file);
  return join(folder, `${stem}-${at.toISOString().slice(0, -1).replaceAll(':', '-')}${extension}`);
}

async function removeOldest(file: string, maxBackups: number): Promise<void> {
  const { folder, stem, extension } = partsOf(file);
  const isAside = (name: string) =>
    name.startsWith(`${stem}-`) &&
    name.endsWith(extension) &&
    /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/.test(name.slice(stem.length + 1, name.length - extension.length));
  const aside = (await readdir(folder)).filter(isAside).sort();
  for (const name of aside.slice(0, -maxBackups)) await rm(join(folder, name), { force: true });
}

function partsOf(file: string): { folder: string; stem: string; extension: string } {
  const extension = extname(file);
  return { folder: dirname(file), stem: basename(file, extension), extension };
}
