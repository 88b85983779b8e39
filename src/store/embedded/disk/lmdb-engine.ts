/**
 * The engine on lmdb: one file, three tables in it (log, meta, lease), one thread.
 *
 * How lmdb is used, and why (docs/decisions/0001-embedded-engine.md):
 * - overlappingSync off: with it, readers would see a commit before it is durable and keep seeing it after its
 *   flush has failed. Off, a commit is visible when it is on disk, or not at all.
 * - 16 KB pages and `append` on the log: leaves stay full, and a commit touches the right edge of one tree only.
 * - Binary keys of 12 bytes, binary values, no compression, no versions, no encoder: the least of its code.
 * - The file is mapped, and what was ever touched of it counts as this process's memory until it is unmapped: after a
 *   look through the whole log that is the whole log. There is no call for it, so `letGo` closes the file and opens it.
 * - The header of the file is read before lmdb maps it: touching a page behind the end of a file that was cut
 *   short would kill the process with SIGBUS instead of giving an error. Whoever opens a file that may have been damaged
 *   since looks through all of it first (disk/lmdb-file-check.ts).
 * - The seal lies in the list of tables, which every commit writes anyway.
 * - After a commit, and before the file is opened again, its name must still lead to it: lmdb itself would go on writing to a
 *   file that was removed, or make an empty one.
 */

import { closeSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import { type Database, open, type RootDatabase } from 'lmdb';
import { makePrivateFolder, PRIVATE_FILE } from '../../../files/private-files.ts';
import { StoreError } from '../../errors.ts';
import type { LeaseId, Revision } from '../../kv.ts';
import {
  DiskFullError,
  type EngineCommit,
  type LogEngine,
  type LogEntry,
  type LogPosition,
  type MetaName,
  type VisitLimits,
} from '../engine/engine.ts';
import { fileSystemError } from './data-dir.ts';
import { checkLmdbHeader } from './lmdb-header.ts';
import { PAGE_BYTES } from './lmdb-pages.ts';

const KEY_BYTES = 12;
const SEAL_KEY = Buffer.from('seal');
/** What the system calls a full disk, a used up quota, a limit of the file's size, and a failing device. */
const ERRNO = { noSpace: 28, quota: 122, fileTooBig: 27, io: 5 } as const;
/** lmdb takes a write that was cut short for a failing device; with less room than this it was a full disk. */
const FULL_BYTES = 1024 * 1024;
/** What a commit takes beside its records: the pages on the way to them, headers, lists of free pages. */
const COMMIT_BYTES = 128 * 1024;

export type LmdbEngineOptions = { readonly file: string; readonly isDurable: boolean };

export function openLmdbEngine({ file, isDurable }: LmdbEngineOptions): LogEngine {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found) mustBeWritable(file);
  if (found && found.size > 0) checkLmdbHeader(file); // made, but never written to: as good as new
  if (!found) makePrivateFolder(dirname(file)); // lmdb would make it, for everybody to read
  try {
    return new LmdbEngine(file, isDurable);
  } catch (err) {
    throw cannotOpen(file, err);
  }
}

/** lmdb's own complaints have numbers below zero; the system's are passed on under their names. */
function cannotOpen(file: string, err: unknown): unknown {
  const { code = 0 } = err as { code?: number };
  const message = `Cannot open ${JSON.stringify(file)}: ${messageOf(err)}`;
  if (code <= 0) return new StoreError('Corrupt', message, { cause: err });
  const [name] = getSystemErrorMap().get(-code) ?? [];
  return fileSystemError(Object.assign(new Error(message, { cause: err }), { code: name }), file);
}

/** lmdb would not tell a file that it may not write from one that is damaged. */
function mustBeWritable(file: string): void {
  try {
    closeSync(openSync(file, 'r+'));
  } catch (err) {
    throw fileSystemError(err, file);
  }
}

type Table = Database<Buffer, Buffer>;
type Tables = {
  readonly env: RootDatabase<Buffer, Buffer>;
  readonly log: Table;
  readonly meta: Table;
  readonly lease: Table;
};

class LmdbEngine implements LogEngine {
  readonly #file: string;
  readonly #isDurable: boolean;
  #tables: Tables;
  readonly #identity: FileIdentity;
  /** Of the file, read or written since it was mapped. */
  #heldBytes = 0;
  /** Reused for every call: lmdb copies a key into its own buffer before it returns. */
  readonly #key = Buffer.alloc(KEY_BYTES);

  constructor(file: string, isDurable: boolean) {
    this.#file = file;
    this.#isDurable = isDurable;
    this.#tables = openTables(file, isDurable);
    this.#identity = identityOf(file)!;
  }

  async commit(commit: EngineCommit): Promise<void> {
    const { append, remove, meta, leases, seal } = commit;
    const { env, log, meta: metaTable, lease } = this.#tables;
    this.#mustHaveRoom(commit);
    let first: Promise<boolean> | undefined;
    try {
      await env.batch(() => {
        for (const { revision, sub, record } of append) {
          this.#heldBytes += record.length;
          const isAppended = log.put(writeKey(this.#key, revision, sub), record, { append: true } as never);
          ignoreRejection(isAppended);
          first ??= isAppended;
        }
        this.#heldBytes += remove.length * PAGE_BYTES;
        for (const { revision, sub } of remove) ignoreRejection(log.remove(writeKey(this.#key, revision, sub)));
        for (const [name, value] of meta) ignoreRejection(metaTable.put(Buffer.from(name), numberToBytes(value)));
        for (const [id, ttl] of leases) {
          const key = idToBytes(id);
          ignoreRejection(ttl === undefined ? lease.remove(key) : lease.put(key, numberToBytes(ttl)));
        }
        if (seal) ignoreRejection(env.put(SEAL_KEY, seal));
      });
      // lmdb refuses to append below the end of the log by answering false; since records ascend, the first one tells.
      if (first && !(await first)) throw new Error(`record ${append[0]!.revision} is not above the end of the log`);
    } catch (err) {
      // lmdb hands the cause over as a second, rejected promise; left alone it would end the process.
      const { commitError } = err as { commitError?: Promise<never> };
      const cause = await commitError?.catch((inner: unknown) => inner);
      const message = `Cannot commit to ${JSON.stringify(this.#file)}: ${messageOf(cause ?? err)}`;
      throw this.#isFull(cause) ? new DiskFullError(message, { cause: err }) : new Error(message, { cause: err });
    }
    this.#mustBeInPlace();
  }

  read({ revision, sub }: LogPosition, take: (bytes: number) => Buffer = Buffer.allocUnsafe): Buffer | undefined {
    const { log } = this.#tables;
    let shared: Buffer | undefined;
    try {
      shared = log.getBinaryFast(writeKey(this.#key, revision, sub)) as Buffer | undefined;
    } catch (err) {
      throw this.#cannotRead(err);
    }
    if (!shared) return undefined;
    const { lastSize } = log as unknown as { lastSize: number };
    this.#heldBytes += lastSize;
    // lmdb's own copy goes through slice(), which costs twice as much as this; so does a Buffer as a window on it.
    const record = take(lastSize); // what it throws is its caller's own
    record.set(new Uint8Array(shared.buffer, shared.byteOffset, lastSize));
    return record;
  }

  scan(fromRevision: Revision, limitRecords: number, limitBytes: number): LogEntry[] {
    const found: LogEntry[] = [];
    let bytes = 0;
    try {
      for (const { key, value } of this.#tables.log.getRange({ start: keyFor(fromRevision, 0) })) {
        const entry = { ...positionOf(key), record: value };
        const isFull = found.length >= limitRecords || bytes >= limitBytes;
        if (isFull && entry.revision !== found[found.length - 1]!.revision) break;
        found.push(entry);
        bytes += value.length;
      }
    } catch (err) {
      throw this.#cannotRead(err);
    }
    this.#heldBytes += bytes;
    return found;
  }

  visit({ revision, sub }: LogPosition, limits: VisitLimits, see: (entry: LogEntry) => void): LogPosition | undefined {
    let records = 0;
    let bytes = 0;
    // Keys alone, and each record looked up: with its values the range would copy every one of them.
    for (const key of this.#tables.log.getKeys({ start: keyFor(revision, sub) })) {
      const position = positionOf(key);
      if (records === limits.records || bytes >= limits.bytes) return position;
      const record = this.#show(key)!;
      see({ ...position, record });
      records++;
      bytes += record.length;
    }
    return undefined;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  async letGo(): Promise<void> {
    await this.#tables.env.close();
    this.#mustBeInPlace(); // lmdb would make a new file where none is
    checkLmdbHeader(this.#file);
    this.#tables = openTables(this.#file, this.#isDurable);
    this.#heldBytes = 0;
  }

  meta(name: MetaName): number | undefined {
    const bytes = this.#tables.meta.get(Buffer.from(name));
    return bytes && bytesToNumber(bytes);
  }

  leases(): Map<LeaseId, number> {
    const found = new Map<LeaseId, number>();
    for (const { key, value } of this.#tables.lease.getRange({}))
      found.set(key.readBigUInt64BE(0), bytesToNumber(value));
    return found;
  }

  seal(): Buffer | undefined {
    return this.#tables.env.get(SEAL_KEY);
  }

  isInPlace(): boolean {
    const found = identityOf(this.#file);
    return found?.ino === this.#identity.ino && found.dev === this.#identity.dev;
  }

  size(): { fileBytes: number; usedBytes: number } {
    let pages = 2;
    const { log, meta, lease } = this.#tables;
    for (const table of [log, meta, lease]) {
      const stats = table.getStats() as Record<string, number>;
      pages += stats.treeBranchPageCount! + stats.treeLeafPageCount! + stats.overflowPages!;
    }
    const fileBytes = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    return { fileBytes, usedBytes: pages * PAGE_BYTES };
  }

  async close(): Promise<void> {
    await this.#tables.env.close();
  }

  /** lmdb found a page that cannot be right; what it does not find itself may end the process. */
  #cannotRead(err: unknown): StoreError {
    return new StoreError('Corrupt', `Cannot read ${JSON.stringify(this.#file)}: ${messageOf(err)}`, { cause: err });
  }

  /**
   * lmdb itself should not be the one to find the disk full: it writes its message about that past the end of the memory
   * it has for it, and the process ends sooner or later. Pages that are free in the file count as room.
   */
  #mustHaveRoom({ append }: EngineCommit): void {
    let needed = COMMIT_BYTES;
    // Small records share pages, large ones begin and end theirs.
    for (const { record } of append) needed += record.length + (record.length < PAGE_BYTES / 4 ? 128 : PAGE_BYTES);
    const free = this.#freeBytes();
    if (free === undefined || free >= needed) return;
    const { fileBytes, usedBytes } = this.size();
    if (fileBytes - usedBytes < 2 * needed)
      throw new DiskFullError(`Cannot commit to ${JSON.stringify(this.#file)}: ${free} bytes are left on the disk`);
  }

  /** Undefined: the folder is gone, which the commit finds out and tells. */
  #freeBytes(): number | undefined {
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#file));
      return bavail * bsize;
    } catch {
      return undefined;
    }
  }

  #mustBeInPlace(): void {
    if (this.isInPlace()) return;
    throw new Error(`${JSON.stringify(this.#file)} is no longer the file that was opened: it was removed or replaced`);
  }

  #isFull(cause: unknown): boolean {
    const { code } = (cause ?? {}) as { code?: unknown };
    if (code === ERRNO.noSpace || code === ERRNO.quota || code === ERRNO.fileTooBig) return true;
    return code === ERRNO.io && (this.#freeBytes() ?? FULL_BYTES) < FULL_BYTES;
  }

  /** The record under a key, where lmdb has put it for a moment: the next look-up takes its place. */
  #show(key: Buffer): Buffer | undefined {
    const { log } = this.#tables;
    const shared = log.getBinaryFast(key) as Buffer | undefined;
    if (!shared) return undefined;
    const { lastSize } = log as unknown as { lastSize: number };
    this.#heldBytes += lastSize;
    return Buffer.from(shared.buffer, shared.byteOffset, lastSize);
  }
}

function openTables(file: string, isDurable: boolean): Tables {
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const env = open<Buffer, Buffer>({
    ...binary,
    path: file,
    noSubdir: true,
    maxDbs: 3,
    pageSize: PAGE_BYTES,
    overlappingSync: false,
    noSync: !isDurable,
    // The store groups writes itself; a commit starts when it is asked for.
    eventTurnBatching: false,
    // Of the file and of its lock. lmdb's types leave the option out.
    ...({ permissionsMode: PRIVATE_FILE } as object),
  });
  const table = (name: string) => env.openDB<Buffer, Buffer>({ ...binary, name });
  return { env, log: table('log'), meta: table('meta'), lease: table('lease') };
}

type FileIdentity = { readonly ino: number; readonly dev: number };

function identityOf(file: string): FileIdentity | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

function keyFor(revision: Revision, sub: number): Buffer {
  return writeKey(Buffer.allocUnsafe(KEY_BYTES), revision, sub);
}

function writeKey(key: Buffer, revision: Revision, sub: number): Buffer {
  key.writeUInt32BE(Math.floor(revision / 0x1_0000_0000), 0);
  key.writeUInt32BE(revision >>> 0, 4);
  key.writeUInt32BE(sub, 8);
  return key;
}

function positionOf(key: Buffer): LogPosition {
  return { revision: key.readUInt32BE(0) * 0x1_0000_0000 + key.readUInt32BE(4), sub: key.readUInt32BE(8) };
}

function numberToBytes(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function bytesToNumber(bytes: Buffer): number {
  return Number(bytes.readBigUInt64BE(0));
}

function idToBytes(id: LeaseId): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(id);
  return bytes;
}

/** Inside a batch the batch's own promise tells of a failure; the others must not be taken for unhandled ones. */
function ignoreRejection(promise: Promise<boolean>): void {
  promise.catch(() => {});
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
