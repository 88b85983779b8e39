/**
 * A look through lmdb's file before lmdb is trusted with it: lmdb believes every page, and a damaged one makes it leave
 * records out, or end the process.
 *
 * What holds of a file that passes, and of every file that lmdb wrote (its last commit, the newer meta page):
 * - The two meta pages are of transactions N-1 and N, each in its place, and N wrote the root of the main tree.
 * - Every page that a tree leads to carries its own number, the right kind, a transaction not newer than its parent's, and
 *   lies within the file. No page is used twice, be it by trees, by values that overflow, or by the list of free pages.
 * - In a page, nodes lie side by side without a gap or an overlap; over a tree, keys ascend, and each key that leads to a
 *   child separates it from its neighbour. Depth, pages and entries are as many as the tree's record says.
 *
 * So lmdb reads and writes it without leaving its bounds. Whether the records are the right ones the seal tells (seal.ts). It
 * costs one read of the file without its overflowing values, in steps that let others run. A file that fails is Corrupt.
 *
 * The same walk can show the records of the log: to read all of them it is faster than lmdb, which looks each one up, and it
 * maps nothing.
 */
import { closeSync, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEntry } from '../engine/engine.ts';
import { damaged, readHeader } from './lmdb-header.ts';
import {
  dataBytesOf,
  flagsOf,
  HEADER_BYTES,
  keyBytesOf,
  type MetaPage,
  NODE_BYTES,
  NODE_FLAGS,
  nodeAt,
  nodeBytes,
  numberAt,
  overflowPagesFor,
  PAGE_BYTES,
  PAGE_FLAGS,
  ROOM,
  readFully,
  readTreeRecord,
  TREE_RECORD_BYTES,
  type TreeRecord,
} from './lmdb-pages.ts';

/** The tables, each with the length of its keys and values where that is always the same. */
const ENTRY_BYTES = {
  'lease\0': { keyBytes: 8, dataBytes: 8 },
  'log\0': { keyBytes: 12, dataBytes: 0 },
  'meta\0': { keyBytes: 0, dataBytes: 8 },
} as const;
const TABLES = Object.keys(ENTRY_BYTES);
const SEAL_KEY = 'seal';
const FREE_PAGES = 'free pages';
/** Twice the leaves that are read between two turns of the event loop. */
const LEAVES_PER_STEP = 256;
const MOST_DEPTH = 32;

/** Throws Corrupt, naming the page, if lmdb must not open this file. */
export async function checkLmdbFile(file: string): Promise<void> {
  const fd = openSync(file, 'r');
  try {
    const damage = await new FileCheck(fd).run();
    if (damage !== undefined) throw damaged(file, damage);
  } finally {
    closeSync(fd);
  }
}

/** Shows every record in order; each is there only while it is shown. */
export async function readLmdbLog(file: string, see: (entry: LogEntry) => void): Promise<void> {
  const fd = openSync(file, 'r');
  try {
    const damage = await new FileCheck(fd).run(see);
    if (damage !== undefined) throw damaged(file, damage);
  } finally {
    closeSync(fd);
  }
}

/** What is found wrong; thrown from deep inside a tree, and never leaves this file. */
class Damage extends Error {}

type TreeWalk = {
  readonly name: string;
  readonly isFreeList: boolean;
  /** Shown every entry, after it was found to lie within its page. */
  readonly see: (page: Buffer, at: number) => void;
  readonly counts: { branchPages: number; leafPages: number; overflowPages: number; entries: number };
  /** The greatest key so far, and the least that the next one may be: copies, the pages they stood in are gone. */
  last: Buffer | undefined;
  least: Buffer | undefined;
};

class FileCheck {
  readonly #fd: number;
  /** One page per level of a tree, used again and again. */
  readonly #pages: Buffer[] = [];
  readonly #overflowHeader = Buffer.alloc(HEADER_BYTES);
  /** One for each page of the file: 1 once something uses it. */
  #used: Uint8Array = new Uint8Array(0);
  #lastPage = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** With `seeRecord` only what leads to the log. */
  async run(seeRecord?: (entry: LogEntry) => void): Promise<string | undefined> {
    const newest = readHeader(this.#fd);
    if (typeof newest === 'string') return newest;
    try {
      this.#lastPage = newest.lastPage;
      this.#used = new Uint8Array(newest.lastPage + 1).fill(1, 0, 2);
      const tables = await this.#checkMain(newest);
      if (seeRecord) await this.#showLog(newest, tables, seeRecord);
      else await this.#checkTables(newest, tables);
    } catch (err) {
      if (err instanceof Damage) return err.message;
      throw err;
    }
    return undefined;
  }

  async #checkMain({ transaction, main }: MetaPage): Promise<Map<string, TreeRecord>> {
    const tables = new Map<string, TreeRecord>();
    const seeTable = (page: Buffer, at: number) => {
      const dataAt = at + NODE_BYTES + keyBytesOf(page, at);
      const name = page.toString('latin1', at + NODE_BYTES, dataAt);
      if (name === SEAL_KEY && flagsOf(page, at) === 0) return;
      const isTable = flagsOf(page, at) === NODE_FLAGS.isTree && dataBytesOf(page, at) === TREE_RECORD_BYTES;
      if (!TABLES.includes(name) || !isTable)
        throw new Damage(`its list of tables is damaged, it names ${JSON.stringify(name)}`);
      tables.set(name, readTreeRecord(page, dataAt));
    };
    const written = await this.#checkTree('main', main, transaction, seeTable);
    // Every commit writes the seal, or the root of a table: an older root is a page from the past.
    if (written !== undefined && written !== transaction)
      throw new Damage(`its list of tables is of transaction ${written}, not of the last one, ${transaction}`);
    if (written !== undefined && tables.size !== TABLES.length)
      throw new Damage(`of its tables only ${JSON.stringify([...tables.keys()])} are left`);
    return tables;
  }

  async #checkTables({ transaction, free }: MetaPage, tables: ReadonlyMap<string, TreeRecord>): Promise<void> {
    for (const [name, record] of tables) {
      const { keyBytes, dataBytes } = ENTRY_BYTES[name as keyof typeof ENTRY_BYTES];
      const seeEntry = (page: Buffer, at: number) => {
        const isKey = keyBytes === 0 || keyBytesOf(page, at) === keyBytes;
        if (!isKey || (dataBytes > 0 && dataBytesOf(page, at) !== dataBytes))
          throw new Damage(`its table ${name.slice(0, -1)} has an entry of a wrong size`);
      };
      await this.#checkTree(name.slice(0, -1), record, transaction, seeEntry);
    }
    await this.#checkTree(FREE_PAGES, free, transaction, (page, at) => this.#takeFreePages(page, at));
  }

  async #showLog(
    { transaction }: MetaPage,
    tables: ReadonlyMap<string, TreeRecord>,
    see: (entry: LogEntry) => void,
  ): Promise<void> {
    const log = tables.get('log\0');
    if (!log) return;
    await this.#checkTree('log', log, transaction, (page, at) => {
      const keyAt = at + NODE_BYTES;
      const revision = page.readUInt32BE(keyAt) * 0x1_0000_0000 + page.readUInt32BE(keyAt + 4);
      see({ revision, sub: page.readUInt32BE(keyAt + 8), record: this.#dataOf(page, at) });
    });
  }

  /** Answers which transaction wrote the root. */
  async #checkTree(
    name: string,
    record: TreeRecord,
    transaction: number,
    see: TreeWalk['see'],
  ): Promise<number | undefined> {
    const counts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    const isFreeList = name === FREE_PAGES;
    const walk: TreeWalk = { name, isFreeList, see, counts, last: undefined, least: undefined };
    if (!isFreeList && record.flags !== 0) throw new Damage(`its table ${name} has flags ${record.flags}`);
    if (record.depth > MOST_DEPTH || (record.root === undefined) !== (record.depth === 0))
      throw new Damage(`its table ${name} is ${record.depth} levels deep`);
    const written =
      record.root === undefined ? undefined : await this.#checkPage(walk, record.root, record.depth, transaction);
    for (const what of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const)
      if (record[what] !== counts[what])
        throw new Damage(`its table ${name} has ${counts[what]} ${what}, and should have ${record[what]}`);
    return written;
  }

  async #checkPage(walk: TreeWalk, number: number, levels: number, newest: number): Promise<number> {
    if (levels === 1) return this.#checkLeaf(walk, number, newest);
    const page = this.#readPage(walk, number, levels, newest);
    const transaction = numberAt(page, 8);
    walk.counts.branchPages++;
    const pointers = this.#checkNodes(walk, number, page, true);
    for (let pointer = 0; pointer < pointers; pointer += 2) {
      const at = nodeAt(page, pointer);
      // The first child has everything below the second: whatever its key says, nobody looks at it.
      if (pointer > 0)
        this.#separate(walk, number, page.subarray(at + NODE_BYTES, at + NODE_BYTES + keyBytesOf(page, at)));
      const child = page.readUInt32LE(at) + flagsOf(page, at) * 0x1_0000_0000;
      if (levels === 2) this.#checkLeaf(walk, child, transaction);
      else await this.#checkPage(walk, child, levels - 1, transaction);
      if (pointer % LEAVES_PER_STEP === 0) await nextTurn();
    }
    return transaction;
  }

  #checkLeaf(walk: TreeWalk, number: number, newest: number): number {
    const page = this.#readPage(walk, number, 1, newest);
    const transaction = numberAt(page, 8);
    walk.counts.leafPages++;
    const pointers = this.#checkNodes(walk, number, page, false);
    let before = -1;
    for (let pointer = 0; pointer < pointers; pointer += 2) {
      const at = nodeAt(page, pointer);
      if (before < 0) this.#follow(walk, number, page, at);
      else if (!isAscending(walk, page, before, at)) throw this.#broken(walk, number, 'its keys are not in order');
      before = at;
      const flags = flagsOf(page, at);
      if (flags === NODE_FLAGS.overflows) this.#checkOverflow(walk, number, page, at, transaction);
      else if (flags !== 0 && !(walk.name === 'main' && flags === NODE_FLAGS.isTree))
        throw this.#broken(walk, number, `a node has flags ${flags}`);
      walk.see(page, at);
    }
    walk.counts.entries += pointers / 2;
    walk.last = Buffer.from(page.subarray(before + NODE_BYTES, before + NODE_BYTES + keyBytesOf(page, before)));
    walk.least = undefined;
    return transaction;
  }

  #readPage(walk: TreeWalk, number: number, levels: number, newest: number): Buffer {
    this.#use(walk.name, number, 1);
    this.#pages[levels] ??= Buffer.alloc(PAGE_BYTES);
    const page = this.#pages[levels];
    if (!readFully(this.#fd, page, PAGE_BYTES, number * PAGE_BYTES)) throw this.#broken(walk, number, 'it is cut off');
    const transaction = numberAt(page, 8);
    if (numberAt(page, 0) !== number) throw this.#broken(walk, number, `it calls itself ${numberAt(page, 0)}`);
    if (transaction > newest) throw this.#broken(walk, number, `it is of transaction ${transaction}, after ${newest}`);
    const flags = page.readUInt16LE(18);
    if (flags !== (levels === 1 ? PAGE_FLAGS.leaf : PAGE_FLAGS.branch) || page.readUInt16LE(16) !== 0)
      throw this.#broken(walk, number, `it is of kind ${flags}`);
    return page;
  }

  /** That the nodes fill the page from `upper` to its end, side by side; answers how many bytes point to them. */
  #checkNodes(walk: TreeWalk, number: number, page: Buffer, isBranch: boolean): number {
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    if (lower % 2 !== 0 || lower < (isBranch ? 4 : 2) || lower > upper || upper > ROOM)
      throw this.#broken(walk, number, `it has room from ${lower} to ${upper}`);
    let above = ROOM;
    let isInOrder = true;
    for (let pointer = 0; pointer < lower; pointer += 2) {
      const at = page.readUInt16LE(HEADER_BYTES + pointer);
      if (at < upper || at % 2 !== 0 || at + NODE_BYTES > ROOM) throw this.#broken(walk, number, `a node at ${at}`);
      const end = at + nodeBytes(page, at + HEADER_BYTES, isBranch);
      if (end > ROOM) throw this.#broken(walk, number, `a node of ${end - at} bytes at ${at}`);
      // A page that was filled in order has its first node last.
      if (end !== above) isInOrder = false;
      above = at;
    }
    if (!isInOrder) above = this.#checkExtents(walk, number, page, lower, isBranch);
    if (above !== upper) throw this.#broken(walk, number, `its nodes begin at ${above}, not at ${upper}`);
    return lower;
  }

  #checkExtents(walk: TreeWalk, number: number, page: Buffer, lower: number, isBranch: boolean): number {
    const starts: number[] = [];
    for (let pointer = 0; pointer < lower; pointer += 2) starts.push(page.readUInt16LE(HEADER_BYTES + pointer));
    starts.sort((a, b) => b - a);
    let above = ROOM;
    for (const at of starts) {
      const end = at + nodeBytes(page, at + HEADER_BYTES, isBranch);
      if (end !== above) throw this.#broken(walk, number, `its nodes do not lie side by side at ${end}`);
      above = at;
    }
    return above;
  }

  #checkOverflow(walk: TreeWalk, number: number, page: Buffer, at: number, newest: number): void {
    const dataAt = at + NODE_BYTES + keyBytesOf(page, at);
    const first = numberAt(page, dataAt);
    const transaction = numberAt(page, dataAt + 8);
    const pages = numberAt(page, dataAt + 16);
    if (transaction > newest || pages !== overflowPagesFor(dataBytesOf(page, at)))
      throw this.#broken(walk, number, `a value of ${dataBytesOf(page, at)} bytes on ${pages} pages`);
    this.#use(walk.name, first, pages);
    walk.counts.overflowPages += pages;
    const header = this.#overflowHeader;
    const isThere =
      readFully(this.#fd, header, HEADER_BYTES, first * PAGE_BYTES) &&
      numberAt(header, 0) === first &&
      numberAt(header, 8) === transaction &&
      header.readUInt16LE(18) === PAGE_FLAGS.overflow &&
      header.readUInt32LE(20) === pages;
    if (!isThere) throw this.#broken(walk, first, 'it should begin a value');
  }

  /** The first key of a leaf comes after all before it, and not before the key that led there. */
  #follow(walk: TreeWalk, number: number, page: Buffer, at: number): void {
    const key = page.subarray(at + NODE_BYTES, at + NODE_BYTES + keyBytesOf(page, at));
    if (key.length === 0 || (walk.isFreeList && key.length !== 8)) throw this.#broken(walk, number, 'a key is damaged');
    const isAbove = walk.last === undefined || compareKeys(walk, walk.last, key) < 0;
    const isEnough = walk.least === undefined || compareKeys(walk, walk.least, key) <= 0;
    if (!isAbove || !isEnough) throw this.#broken(walk, number, 'its keys do not follow those before it');
  }

  #separate(walk: TreeWalk, number: number, key: Buffer): void {
    if (walk.isFreeList && key.length !== 8) throw this.#broken(walk, number, 'a key is damaged');
    if (walk.last === undefined || compareKeys(walk, walk.last, key) >= 0)
      throw this.#broken(walk, number, 'its keys do not separate its children');
    walk.least = Buffer.from(key);
  }

  /** A list of free pages: how many numbers; then each a page, or with a minus how many from the next one on, or 0. */
  #takeFreePages(page: Buffer, at: number): void {
    const list = this.#dataOf(page, at);
    const length = list.length >= 8 ? numberAt(list, 0) : Number.NaN;
    if (!(length * 8 + 8 <= list.length)) throw new Damage('its list of free pages is damaged');
    for (let i = 1; i <= length; i++) {
      const entry = Number(list.readBigInt64LE(i * 8));
      if (entry === 0) continue;
      if (entry < 0 && i === length) throw new Damage('its list of free pages is damaged');
      const first = entry > 0 ? entry : Number(list.readBigInt64LE(++i * 8));
      this.#use(FREE_PAGES, first, entry > 0 ? 1 : -entry);
    }
  }

  /** The value of an entry, in the page or where it overflows to. */
  #dataOf(page: Buffer, at: number): Buffer {
    const dataAt = at + NODE_BYTES + keyBytesOf(page, at);
    const dataBytes = dataBytesOf(page, at);
    if (flagsOf(page, at) !== NODE_FLAGS.overflows) return page.subarray(dataAt, dataAt + dataBytes);
    const data = Buffer.allocUnsafe(dataBytes);
    if (!readFully(this.#fd, data, dataBytes, numberAt(page, dataAt) * PAGE_BYTES + HEADER_BYTES))
      throw new Damage('it was cut short');
    return data;
  }

  #use(name: string, first: number, pages: number): void {
    if (!(first >= 2 && first + pages - 1 <= this.#lastPage))
      throw new Damage(`its table ${name} leads to page ${first}, which it does not have`);
    for (let number = first; number < first + pages; number++) {
      if (this.#used[number] === 1) throw new Damage(`its page ${number} is used twice`);
      this.#used[number] = 1;
    }
  }

  #broken({ name }: TreeWalk, number: number, what: string): Damage {
    return new Damage(`its page ${number} (${name}) is damaged: ${what}`);
  }
}

/** Whether the key of one node comes before that of another. */
function isAscending({ isFreeList }: TreeWalk, page: Buffer, before: number, at: number): boolean {
  const [length, lengthBefore] = [keyBytesOf(page, at), keyBytesOf(page, before)];
  const [start, startBefore] = [at + NODE_BYTES, before + NODE_BYTES];
  if (isFreeList) return length === 8 && numberAt(page, startBefore) < numberAt(page, start);
  for (let i = 0; i < length && i < lengthBefore; i++) {
    const difference = page[start + i]! - page[startBefore + i]!;
    if (difference !== 0) return difference > 0;
  }
  return length > lengthBefore;
}

function compareKeys({ isFreeList }: TreeWalk, a: Buffer, b: Buffer): number {
  return isFreeList ? numberAt(a, 0) - numberAt(b, 0) : a.compare(b);
}
