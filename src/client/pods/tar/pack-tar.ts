/**
 * A file or folder of this machine as a tar archive, made while it is read: what is held is one piece of one file.
 *
 * Files, folders and symbolic links (as links) go into it, in the order of their names; anything else is left out and told. A
 * file that shrinks while it is read is an error, what it grows by is left out.
 */
import { lstat, open, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOCK_BYTES, encodeHeader, padding } from './tar-header.ts';

const PIECE_BYTES = 256 * 1024;

export type PackOptions = {
  /** What it is called in the archive. */
  readonly name: string;
  readonly onSkipped?: ((path: string, why: string) => void) | undefined;
};

export async function* packTar(source: string, { name, onSkipped }: PackOptions): AsyncGenerator<Buffer, void, void> {
  yield* packed(source, name, onSkipped ?? (() => {}));
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* packed(
  path: string,
  name: string,
  onSkipped: (path: string, why: string) => void,
): AsyncGenerator<Buffer, void, void> {
  const stat = await lstat(path);
  const { mode } = stat;
  if (stat.isSymbolicLink())
    return yield encodeHeader({ name, kind: 'symlink', size: 0, mode, linkName: await readlink(path) });
  if (stat.isFile()) return yield* packedFile(path, name);
  if (!stat.isDirectory()) return onSkipped(path, 'it is neither a file nor a folder nor a link');
  yield encodeHeader({ name: `${name}/`, kind: 'folder', size: 0, mode, linkName: '' });
  const inside: string[] = [];
  for await (const one of await opendir(path)) inside.push(one.name);
  for (const one of inside.sort()) yield* packed(join(path, one), `${name}/${one}`, onSkipped);
}

async function* packedFile(path: string, name: string): AsyncGenerator<Buffer, void, void> {
  await using file = await open(path, 'r');
  const { size, mode } = await file.stat();
  yield encodeHeader({ name, kind: 'file', size, mode, linkName: '' });
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new Error(`Cannot pack "${path}": it became shorter while it was read`);
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
  yield padding(size);
}
