/**
 * Stands where `node:fs/promises` stands: the files of a simulated world, as far as checkpoints use files. There is one
 * disk at a time, that of the world which runs.
 *
 * What is always true: every call takes a while, as the seed has it, and nothing of it is seen before. A write on a disk
 * without room goes as far as there is room, and fails. An image is what a machine finds that comes back after a crash at
 * that moment: whatever was written by then, and no lock that anybody alive holds.
 */
import type { Clock } from '../../../../src/api/index.ts';

type Inode = { bytes: Buffer; changedAt: number };
type Entry = Inode | 'folder';

export class SimDisk {
  /** Bytes; a disk that is full has none. */
  room: number = Number.POSITIVE_INFINITY;
  /** Whether it ever was. */
  wasFull = false;
  entries: Map<string, Entry> = new Map([['/', 'folder']]);
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  fill(room: number): void {
    this.room = room;
    this.wasFull = true;
  }

  image(): Map<string, Entry> {
    const copy = (entry: Entry) => (entry === 'folder' ? entry : { ...entry, bytes: Buffer.from(entry.bytes) });
    return new Map([...this.entries].filter(([path]) => !path.includes('.lock')).map(([path, e]) => [path, copy(e)]));
  }

  get now(): number {
    return this.#clock.now();
  }

  turn(): Promise<void> {
    return this.#clock.sleep(Math.floor(this.#random() * 4));
  }

  inode(path: string): Inode {
    const entry = this.entries.get(path);
    if (!entry || entry === 'folder') throw failure(entry ? 'EISDIR' : 'ENOENT', path);
    return entry;
  }

  make(path: string): Inode {
    if (!this.entries.has(folderOf(path))) throw failure('ENOENT', path);
    if (this.entries.has(path)) throw failure('EEXIST', path);
    const inode: Inode = { bytes: Buffer.alloc(0), changedAt: this.now };
    this.entries.set(path, inode);
    return inode;
  }

  /** How many bytes went in; what is after them in the file stays. */
  put(inode: Inode, bytes: Buffer, at: number): number {
    const fits = Math.min(bytes.length, this.room);
    this.room -= fits;
    const end = at + fits;
    const whole = Buffer.alloc(Math.max(inode.bytes.length, end));
    inode.bytes.copy(whole);
    bytes.copy(whole, at, 0, fits);
    inode.bytes = whole;
    inode.changedAt = this.now;
    return fits;
  }
}

let mounted: SimDisk | undefined;

/** From now on files are those of this disk. */
export function mount(disk: SimDisk): void {
  mounted = disk;
}

async function turn(): Promise<SimDisk> {
  if (!mounted) throw new Error('Cannot reach a file: no disk is mounted');
  const disk = mounted;
  await disk.turn();
  return disk;
}

class SimHandle {
  readonly #disk: SimDisk;
  readonly #inode: Inode;
  #at = 0;

  constructor(disk: SimDisk, inode: Inode) {
    this.#disk = disk;
    this.#inode = inode;
  }

  async read(buffer: Buffer, offset: number, length: number): Promise<{ bytesRead: number; buffer: Buffer }> {
    await turn();
    const bytesRead = this.#inode.bytes.copy(buffer, offset, this.#at, this.#at + length);
    this.#at += bytesRead;
    return { bytesRead, buffer };
  }

  /** In two pieces, so that a crash can come between them. */
  async write(bytes: Buffer, from: number, length: number, position: number): Promise<{ bytesWritten: number }> {
    await turn();
    const wanted = Math.max(1, length >> 1);
    const bytesWritten = this.#disk.put(this.#inode, bytes.subarray(from, from + wanted), position);
    if (bytesWritten < wanted) throw failure('ENOSPC', 'write');
    return { bytesWritten };
  }

  async truncate(length: number): Promise<void> {
    await turn();
    this.#inode.bytes = this.#inode.bytes.subarray(0, length);
  }

  async chmod(): Promise<void> {}
  async sync(): Promise<void> {
    await turn();
  }
  async datasync(): Promise<void> {
    await turn();
  }
  async close(): Promise<void> {}
}

export async function open(path: string, flags: string): Promise<SimHandle> {
  const disk = await turn();
  if (disk.entries.get(path) === 'folder') return new SimHandle(disk, { bytes: Buffer.alloc(0), changedAt: 0 });
  return new SimHandle(disk, flags === 'wx' ? disk.make(path) : disk.inode(path));
}

export async function rename(from: string, to: string): Promise<void> {
  const disk = await turn();
  disk.entries.set(to, disk.inode(from));
  disk.entries.delete(from);
}

export async function link(from: string, to: string): Promise<void> {
  const disk = await turn();
  if (disk.entries.has(to)) throw failure('EEXIST', to);
  disk.entries.set(to, disk.inode(from));
}

export async function rm(path: string, { force = false }: { force?: boolean } = {}): Promise<void> {
  const disk = await turn();
  if (!disk.entries.delete(path) && !force) throw failure('ENOENT', path);
}

export async function mkdir(path: string): Promise<void> {
  const disk = await turn();
  if (disk.entries.has(path)) throw failure('EEXIST', path);
  if (!disk.entries.has(folderOf(path))) throw failure('ENOENT', path);
  disk.entries.set(path, 'folder');
}

export { rm as rmdir };

export async function readFile(path: string): Promise<string> {
  const disk = await turn();
  return disk.inode(path).bytes.toString();
}

export async function writeFile(path: string, text: string): Promise<void> {
  const disk = await turn();
  const bytes = Buffer.from(text);
  if (disk.put(disk.make(path), bytes, 0) < bytes.length) throw failure('ENOSPC', path);
}

export async function stat(path: string): Promise<{ mtimeMs: number; isDirectory: () => boolean }> {
  const disk = await turn();
  const entry = disk.entries.get(path);
  if (!entry) throw failure('ENOENT', path);
  return { mtimeMs: entry === 'folder' ? 0 : entry.changedAt, isDirectory: () => entry === 'folder' };
}

export async function utimes(path: string): Promise<void> {
  const disk = await turn();
  disk.inode(path).changedAt = disk.now;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function failure(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: of the simulated disk`), { code, syscall });
}
