/**
 * The file of a checkpoint: batches go to its end, and from time to time it is written anew without its history, beside
 * the old one and then put in its place.
 *
 * What is always true: whatever moment the process ends, the file is the state of some earlier commit. A batch that failed
 * leaves a torn end, which is cut off before the next. One call at a time. A new file is on the disk before it takes the
 * place of the old one; a batch is so only if `isDurable`: else a machine that loses power may lose the last batches, and
 * is back at an earlier commit. Nobody but the owner may read the file: objects may be secrets.
 */
import * as fs from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AnyObject } from '../objects/objects.ts';
import {
  type CheckpointHeader,
  CheckpointReader,
  type Commit,
  commitLine,
  deleteLine,
  headerLine,
  putLine,
  type SavedState,
} from './checkpoint-format.ts';

/** What is asked of a disk; tests have one that fails. */
export type Disk = Pick<typeof fs, 'open' | 'rename' | 'rm' | 'mkdir'>;

/** Undefined is gone. */
type Changes = Iterable<readonly [key: string, object: AnyObject | undefined]>;

const READ_BYTES = 256 * 1024;
/** Text is made and written in pieces, so that the event loop has its turn. */
const WRITE_CHARS = 256 * 1024;
/** A file is written anew when it is twice as long as it would have to be, and longer than this. */
const MIN_REWRITE_BYTES = 4 * 1024 * 1024;

export class CheckpointFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #isDurable: boolean;
  #handle: fs.FileHandle | undefined;
  /** Up to the last commit. */
  #bytes = 0;
  #liveBytes = 0;
  #isTorn = false;

  constructor(path: string, { isDurable = false, disk = fs }: { isDurable?: boolean; disk?: Disk } = {}) {
    this.path = path;
    this.#isDurable = isDurable;
    this.#disk = disk;
  }

  /** 0 if there is none, or none that can be gone on with. */
  get bytes(): number {
    return this.#bytes;
  }

  /** There is nothing that a batch could be added to, or too much of what is over. */
  get wantsRewrite(): boolean {
    return !this.#handle || (this.#bytes > MIN_REWRITE_BYTES && this.#bytes > 2 * this.#liveBytes);
  }

  /** Makes its folder. */
  async prepare(): Promise<void> {
    await makeFolder(this.#disk, dirname(this.path));
  }

  /** What it holds, or undefined if there is no file; throws what is wrong with it. */
  async read<T extends AnyObject>(): Promise<SavedState<T> | undefined> {
    const handle = await this.#disk.open(this.path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (!handle) return undefined;
    const reader = new CheckpointReader<T>();
    try {
      for (;;) {
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES);
        if (bytesRead === 0) break;
        reader.push(buffer.subarray(0, bytesRead));
      }
    } finally {
      await handle.close();
    }
    return reader.finish();
  }

  /** From now on batches go behind what was read; what is torn there goes. */
  async goOn({ bytes, liveBytes }: Pick<SavedState<AnyObject>, 'bytes' | 'liveBytes'>): Promise<void> {
    const handle = await this.#disk.open(this.path, 'r+');
    try {
      await handle.chmod(0o600);
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
    this.#bytes = bytes;
    this.#liveBytes = liveBytes;
    this.#isTorn = true;
  }

  async append(changes: Changes, commit: Commit): Promise<void> {
    const handle = this.#handle;
    if (!handle) throw new Error(`Cannot add to checkpoint ${JSON.stringify(this.path)}: it was not begun`);
    if (this.#isTorn) await handle.truncate(this.#bytes);
    this.#isTorn = true;
    const end = await writeAll(handle, this.#bytes, batchOf(changes, commit));
    if (this.#isDurable) await handle.datasync();
    this.#isTorn = false;
    this.#bytes = end;
  }

  /** In the place of what is there, whole or not at all. */
  async rewrite(header: CheckpointHeader, objects: Iterable<AnyObject>, commit: Commit): Promise<void> {
    const draft = `${this.path}.new`;
    await this.prepare(); // somebody may have taken it away
    await this.#disk.rm(draft, { force: true }); // left behind by a crash, with whatever mode
    const handle = await this.#disk.open(draft, 'wx', 0o600);
    let end: number;
    try {
      end = await writeAll(handle, 0, wholeOf(header, objects, commit));
      await handle.sync();
      await this.#disk.rename(draft, this.path);
    } catch (error) {
      await handle.close();
      await this.#disk.rm(draft, { force: true }).catch(() => {}); // the first error is the one to tell
      throw error;
    }
    const old = this.#handle;
    this.#handle = handle;
    this.#bytes = end;
    this.#liveBytes = end;
    this.#isTorn = false;
    await old?.close();
    await this.#syncFolder();
  }

  /** Out of the way, where somebody can look at it; one that is there already is lost. */
  async setAside(): Promise<string> {
    const aside = `${this.path}.set-aside`;
    await this.#disk.rename(this.path, aside);
    return aside;
  }

  /** What was written stays; the next batch has to be a new file. */
  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** So that the new name outlives the machine; some systems do not let folders be flushed. */
  async #syncFolder(): Promise<void> {
    const folder = await this.#disk.open(dirname(this.path), 'r').catch(() => undefined);
    await folder?.sync().catch(() => {});
    await folder?.close();
  }
}

/** With those above it, one by one: Node's `recursive` never comes back where there can be no folder, as in /proc. */
async function makeFolder(disk: Disk, folder: string): Promise<void> {
  const make = () =>
    disk.mkdir(folder, 0o700).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(disk, dirname(folder));
    await make();
  }
}

function* batchOf(changes: Changes, commit: Commit): Generator<string, void, void> {
  for (const [key, object] of changes) yield object ? putLine(object) : deleteLine(key);
  yield commitLine(commit);
}

function* wholeOf(
  header: CheckpointHeader,
  objects: Iterable<AnyObject>,
  commit: Commit,
): Generator<string, void, void> {
  yield headerLine(header);
  for (const object of objects) yield putLine(object);
  yield commitLine(commit);
}

/** Where it ends. */
async function writeAll(handle: fs.FileHandle, position: number, lines: Iterable<string>): Promise<number> {
  let text = '';
  let at = position;
  const flush = async () => {
    const bytes = Buffer.from(text);
    text = '';
    for (let from = 0; from < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, from, bytes.length - from, at);
      from += bytesWritten;
      at += bytesWritten;
    }
  };
  for (const one of lines) {
    text += one;
    if (text.length >= WRITE_CHARS) await flush();
  }
  await flush();
  return at;
}
