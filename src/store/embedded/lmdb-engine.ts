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
 *   short would kill the process with SIGBUS instead of giving an error.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { StoreError } from '../errors.ts';
import type { LeaseId, Revision } from '../kv.ts';
import { makePrivateFolder, PRIVATE_FILE } from '../private-files.ts';
import type { EngineCommit, LogEngine, LogEntry, LogPosition, MetaName, VisitLimits } from './engine.ts';

const PAGE_BYTES = 16 * 1024;
const KEY_BYTES = 12;

export type LmdbEngineOptions = { readonly file: string; readonly isDurable: boolean };

export function openLmdbEngine({ file, isDurable }: LmdbEngineOptions): LogEngine {
  if (existsSync(file)) checkHeader(file);
  else makePrivateFolder(dirname(file)); // lmdb would make it, for everybody to read
  try {
    return new LmdbEngine(file, isDurable);
  } catch (err) {
    throw new StoreError('Corrupt', `Cannot open ${JSON.stringify(file)}: ${messageOf(err)}`, { cause: err });
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
  /** Of the file, read or written since it was mapped. */
  #heldBytes = 0;
  /** Reused for every call: lmdb copies a key into its own buffer before it returns. */
  readonly #key = Buffer.alloc(KEY_BYTES);

  constructor(file: string, isDurable: boolean) {
    this.#file = file;
    this.#isDurable = isDurable;
    this.#tables = openTables(file, isDurable);
  }

  async commit({ append, remove, meta, leases }: EngineCommit): Promise<void> {
    const { env, log, meta: metaTable, lease } = this.#tables;
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
      });
      // lmdb refuses to append below the end of the log by answering false; since records ascend, the first one tells.
      if (first && !(await first)) throw new Error(`record ${append[0]!.revision} is not above the end of the log`);
    } catch (err) {
      // lmdb hands the cause over as a second, rejected promise; left alone it would end the process.
      const { commitError } = err as { commitError?: Promise<never> };
      const cause = await commitError?.catch((inner: unknown) => inner);
      throw new Error(`Cannot commit to ${JSON.stringify(this.#file)}: ${messageOf(cause ?? err)}`, { cause: err });
    }
  }

  read({ revision, sub }: LogPosition, take: (bytes: number) => Buffer = Buffer.allocUnsafe): Buffer | undefined {
    const { log } = this.#tables;
    const shared = log.getBinaryFast(writeKey(this.#key, revision, sub)) as Buffer | undefined;
    if (!shared) return undefined;
    const { lastSize } = log as unknown as { lastSize: number };
    this.#heldBytes += lastSize;
    // lmdb's own copy goes through slice(), which costs twice as much as this; so does a Buffer as a window on it.
    const record = take(lastSize);
    record.set(new Uint8Array(shared.buffer, shared.byteOffset, lastSize));
    return record;
  }

  scan(fromRevision: Revision, limitRecords: number, limitBytes: number): LogEntry[] {
    const found: LogEntry[] = [];
    let bytes = 0;
    for (const { key, value } of this.#tables.log.getRange({ start: keyFor(fromRevision, 0) })) {
      const entry = { ...positionOf(key), record: value };
      const isFull = found.length >= limitRecords || bytes >= limitBytes;
      if (isFull && entry.revision !== found[found.length - 1]!.revision) break;
      found.push(entry);
      bytes += value.length;
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

  size(): { fileBytes: number; usedBytes: number } {
    let pages = 2;
    const { log, meta, lease } = this.#tables;
    for (const table of [log, meta, lease]) {
      const stats = table.getStats() as Record<string, number>;
      pages += stats.treeBranchPageCount! + stats.treeLeafPageCount! + stats.overflowPages!;
    }
    return { fileBytes: statSync(this.#file).size, usedBytes: pages * PAGE_BYTES };
  }

  async close(): Promise<void> {
    await this.#tables.env.close();
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

/** Two meta pages open the file; the newer one says how many pages there are. See docs/decisions/0001. */
function checkHeader(file: string): void {
  const corrupt = (what: string) => new StoreError('Corrupt', `Cannot open ${JSON.stringify(file)}: ${what}`);
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    if (size === 0) return; // made, but never written to: as good as new
    const pages = [0, PAGE_BYTES].map((offset) => readMetaPage(fd, offset)).filter((page) => page !== undefined);
    if (pages.length < 2) throw corrupt('it is not a store of ours, or its header is damaged');
    const newest = pages.reduce((a, b) => (b.transaction > a.transaction ? b : a));
    if (newest.pageBytes !== PAGE_BYTES) throw corrupt(`its pages have ${newest.pageBytes} bytes, not ${PAGE_BYTES}`);
    const needed = (newest.lastPage + 1) * PAGE_BYTES;
    if (size < needed) throw corrupt(`it was cut short, ${size} of at least ${needed} bytes are left`);
  } finally {
    closeSync(fd);
  }
}

const META = { bytes: 160, flags: 18, magic: 24, dataVersion: 28, pageBytes: 48, lastPage: 144, transaction: 152 };
const IS_META_PAGE = 0x08;
const MAGIC = 0xbeefc0de;

function readMetaPage(fd: number, offset: number) {
  const page = Buffer.alloc(META.bytes);
  if (readSync(fd, page, 0, META.bytes, offset) < META.bytes) return undefined;
  if (page.readUInt32LE(META.magic) !== MAGIC || !(page.readUInt16LE(META.flags) & IS_META_PAGE)) return undefined;
  return {
    pageBytes: page.readUInt32LE(META.pageBytes),
    lastPage: Number(page.readBigUInt64LE(META.lastPage)),
    transaction: page.readBigUInt64LE(META.transaction),
  };
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
