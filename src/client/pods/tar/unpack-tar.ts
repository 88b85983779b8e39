/**
 * Writes what an archive holds to one place of this machine, and nowhere else, whoever made the archive.
 *
 * Always true:
 * - Nothing is written outside the target. A name that is absolute, has `..` in it or is not below the name that was asked for is
 *   an error. No symbolic link is written through: the folders on the way to a file are real ones, and a file or link that is in the
 *   way is replaced, not followed.
 * - Links are made last, and only those that stay inside: relative, with `..` at their beginning only, no further up than the
 *   target. Others are left out and told, as are devices, sockets and pipes.
 * - Nothing runs or belongs to somebody else by it: permissions are those of a user, the owner is who unpacks.
 */
import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { readTar, type TarContent } from './read-tar.ts';
import type { TarEntry } from './tar-header.ts';

/** Names and targets of links that wait for the end. */
const LIMIT_LINK_BYTES = 16 * 1024 * 1024;

/** No system takes longer ones. */
const LIMIT_NAME = 4096;

export type UnpackOptions = {
  /** What the archive calls that which becomes the target. */
  readonly name: string;
  /** Of all files together. */
  readonly limitBytes?: number | undefined;
  readonly onSkipped?: ((name: string, why: string) => void) | undefined;
};

/** How much was written; Errors say what was wrong, without saying whose archive it was. */
export async function unpackTar(
  chunks: AsyncIterable<Buffer>,
  target: string,
  { name: top, limitBytes = Number.POSITIVE_INFINITY, onSkipped = () => {} }: UnpackOptions,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  const place = new Place(target);
  const links: { readonly parts: readonly string[]; readonly to: string }[] = [];
  let [entries, bytes, linkBytes] = [0, 0, 0];
  for await (const [entry, content] of readTar(chunks)) {
    const parts = partsBelow(top, entry.name);
    entries++;
    switch (entry.kind) {
      case 'file':
        bytes += entry.size;
        if (bytes > limitBytes) throw new Error(`it holds over ${limitBytes} bytes`);
        await place.writeFile(parts, entry, content);
        break;
      case 'folder':
        await place.makeFolder(parts);
        break;
      case 'hardlink':
        await place.copy(partsBelow(top, entry.linkName), parts);
        break;
      case 'symlink':
        linkBytes += entry.name.length + entry.linkName.length;
        if (linkBytes > LIMIT_LINK_BYTES) throw new Error(`its links are over ${LIMIT_LINK_BYTES} bytes`);
        if (staysInside(parts, entry.linkName)) links.push({ parts, to: entry.linkName });
        else onSkipped(entry.name, `it is a link that leaves: "${entry.linkName}"`);
        break;
      default:
        onSkipped(entry.name, 'it is neither a file nor a folder nor a link');
    }
  }
  for (const { parts, to } of links) await place.link(parts, to);
  return { entries, bytes };
}

/** The way from the top to it. */
function partsBelow(top: string, name: string): string[] {
  if (name.length > LIMIT_NAME) throw new Error(`a name in it is over ${LIMIT_NAME} characters`);
  const parts = name.split('/').filter((part, at) => part !== '.' && (part !== '' || at === 0));
  const isBad = parts.length === 0 ? top !== '.' : parts[0] === '' || parts.includes('..') || name.includes('\0');
  const below = top === '.' ? parts : parts.slice(1);
  if (isBad || (top !== '.' && parts[0] !== top)) throw new Error(`it holds "${name}", which is not below "${top}"`);
  return below;
}

/**
 * Whether a link at this place leads nowhere outside, whatever other such links it goes through: its `..` are at the
 * beginning, where they go up through real folders.
 */
function staysInside(parts: readonly string[], to: string): boolean {
  if (to === '' || to.startsWith('/') || to.includes('\0')) return false;
  const steps = to.split('/').filter((step) => step !== '' && step !== '.');
  const up = steps.findIndex((step) => step !== '..');
  const ups = up < 0 ? steps.length : up;
  return ups < parts.length && !steps.slice(ups).includes('..');
}

/** Where it goes, and the only file that writes. */
class Place {
  readonly #target: string;
  /** The folder that was last seen to be real: most files lie beside the one before. Nothing of ours changes that. */
  #seen: string | undefined;

  constructor(target: string) {
    this.#target = target;
  }

  async writeFile(parts: readonly string[], { mode }: TarEntry, content: TarContent): Promise<void> {
    const path = await this.#free(parts);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using file = await open(path, flags, mode & 0o777);
    for await (const piece of content) await file.writev([piece]);
  }

  async makeFolder(parts: readonly string[]): Promise<void> {
    await this.#realFolder(parts);
  }

  /** Of what it was told before: two names of one file. */
  async copy(from: readonly string[], to: readonly string[]): Promise<void> {
    await this.#realFolder(from.slice(0, -1));
    const source = join(this.#target, ...from);
    const isFile = await lstat(source).then(
      (stat) => stat.isFile(),
      () => false,
    );
    if (!isFile) throw new Error(`it holds a second name of "${from.join('/')}", which is no file of it`);
    await copyFile(source, await this.#free(to), constants.COPYFILE_EXCL);
  }

  async link(parts: readonly string[], to: string): Promise<void> {
    await symlink(to, await this.#free(parts));
  }

  /** Its path, with nothing there; what was there is gone, unless it is a folder. */
  async #free(parts: readonly string[]): Promise<string> {
    if (parts.length > 0) await this.#realFolder(parts.slice(0, -1));
    const path = join(this.#target, ...parts);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory()) throw new Error(`it holds "${parts.join('/')}", where there is a folder`);
    if (found) await rm(path);
    return path;
  }

  async #realFolder(parts: readonly string[]): Promise<void> {
    const path = join(this.#target, ...parts);
    if (this.#seen === path) return;
    if (parts.length > 0) await this.#realFolder(parts.slice(0, -1));
    const found = await lstat(path).catch(() => undefined);
    if (!found) await mkdir(path, { recursive: parts.length === 0, mode: 0o755 });
    // The target itself is the caller's word; below it nothing is followed.
    else if (!found.isDirectory() && (parts.length > 0 || !found.isSymbolicLink()))
      throw new Error(`it holds "${parts.join('/')}" as a folder, where there is something else`);
    this.#seen = path;
  }
}
