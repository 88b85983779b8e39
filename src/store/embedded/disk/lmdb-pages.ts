/**
 * How lmdb lays its file out, as far as one must know to check it: meta pages, pages of a tree, the nodes in them.
 *
 *   page:  number (8) | transaction (8) | pad (2) | flags (2) | lower (2) upper (2), or pages (4) | pointers … free … nodes
 *   node:  data size or child's number (4, with flags 6) | flags (2) | key size (2) | key | data, or where it overflows to
 *
 * Pointers, `lower` and `upper` count from behind the header of the page. Numbers are little endian: a file is read on the
 * kind of machine that wrote it. Nothing here trusts what it reads: whoever calls asks about bounds first.
 */
import { readSync } from 'node:fs';

export const PAGE_BYTES: number = 16 * 1024;
export const HEADER_BYTES = 24;
export const NODE_BYTES = 8;
/** For pointers and nodes. */
export const ROOM: number = PAGE_BYTES - HEADER_BYTES;
const OVERFLOW_NODE_BYTES = 24;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
/** What lmdb writes for the root of a tree without entries. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

export const PAGE_FLAGS = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const;
export const NODE_FLAGS = { overflows: 0x01, isTree: 0x02 } as const;
/** Keys are numbers; the file lies in no folder of its own. */
const FREE_TREE_FLAGS = 0x4008;

/** A tree as its record tells of it. */
export type TreeRecord = {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** Undefined: the tree is empty. */
  readonly root: number | undefined;
};

export const TREE_RECORD_BYTES = 48;

export type MetaPage = {
  readonly transaction: number;
  readonly lastPage: number;
  readonly mapBytes: number;
  readonly free: TreeRecord;
  readonly main: TreeRecord;
};

/** Why this is no meta page of ours, or what it says. */
export function readMetaPage(page: Buffer, index: number): MetaPage | string {
  if (page.readUInt32LE(24) !== MAGIC || page.readUInt16LE(18) !== PAGE_FLAGS.meta)
    return 'it is not a store of ours, or its header is damaged';
  if (page.readUInt32LE(28) !== DATA_VERSION) return `its layout has version ${page.readUInt32LE(28)}`;
  const pageBytes = page.readUInt32LE(48);
  if (pageBytes !== PAGE_BYTES) return `its pages have ${pageBytes} bytes, not ${PAGE_BYTES}`;
  const isOdd = numberAt(page, 0) !== index || numberAt(page, 32) !== 0 || page.readUInt16LE(52) !== FREE_TREE_FLAGS;
  if (isOdd) return `page ${index} of its header is damaged`;
  return {
    mapBytes: numberAt(page, 40),
    free: readTreeRecord(page, 48),
    main: readTreeRecord(page, 96),
    lastPage: numberAt(page, 144),
    transaction: numberAt(page, 152),
  };
}

export function readTreeRecord(bytes: Buffer, at: number): TreeRecord {
  return {
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: numberAt(bytes, at + 8),
    leafPages: numberAt(bytes, at + 16),
    overflowPages: numberAt(bytes, at + 24),
    entries: numberAt(bytes, at + 32),
    root: bytes.readBigUInt64LE(at + 40) === NO_PAGE ? undefined : numberAt(bytes, at + 40),
  };
}

/** Where the node begins that a pointer leads to; the functions below take that place. */
export function nodeAt(page: Buffer, pointer: number): number {
  return HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + pointer);
}

export function dataBytesOf(page: Buffer, at: number): number {
  return page.readUInt32LE(at);
}

export function flagsOf(page: Buffer, at: number): number {
  return page.readUInt16LE(at + 4);
}

export function keyBytesOf(page: Buffer, at: number): number {
  return page.readUInt16LE(at + 6);
}

/** What it takes of its page; nodes begin at even places. */
export function nodeBytes(page: Buffer, at: number, isBranch: boolean): number {
  const overflows = (flagsOf(page, at) & NODE_FLAGS.overflows) !== 0;
  const data = isBranch ? 0 : overflows ? OVERFLOW_NODE_BYTES : dataBytesOf(page, at);
  const bytes = NODE_BYTES + keyBytesOf(page, at) + data;
  return bytes + (bytes % 2);
}

/** How many pages a value takes that does not fit into its node. */
export function overflowPagesFor(bytes: number): number {
  return Math.floor((HEADER_BYTES - 1 + bytes) / PAGE_BYTES) + 1;
}

/** What does not fit a number is as good as any other number that is far too big. */
export function numberAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 0x1_0000_0000;
}

/** False when the file ends before. */
export function readFully(fd: number, into: Buffer, bytes: number, position: number): boolean {
  for (let done = 0; done < bytes; ) {
    const read = readSync(fd, into, done, bytes - done, position + done);
    if (read === 0) return false;
    done += read;
  }
  return true;
}
