/**
 * The file of bbolt, the engine of etcd: pages of one size, numbered from 0.
 *
 *   page      id (8) flags (2) count (2) overflow (4) | elements | keys and values
 *   page 0, 1 a meta each: magic, version, page size, root bucket, freelist, number of pages, transaction, checksum;
 *             the valid one of the later transaction counts
 *   leaf      per element: flags (4) place (4) key size (4) value size (4); the place counts from the element
 *   branch    per element: place (4) key size (4) page (8); the key is the first one below it
 *
 * A page that does not suffice goes on in the `overflow` pages behind it. A bucket is a tree of such pages; in a leaf of
 * the root bucket its name leads to its root page and a sequence (8 each); with root 0 a small page follows in place.
 * Everything is little endian.
 */
export const PAGE_BYTES = 4096;
export const PAGE_HEADER_BYTES = 16;
export const ELEMENT_BYTES = 16;
export const BUCKET_BYTES = 16;
export const META_BYTES = 64;

export const pageFlag = { branch: 0x01, leaf: 0x02, meta: 0x04, freelist: 0x10 } as const;
/** Of a leaf element: it is a bucket. */
export const BUCKET_FLAG = 0x01;
const MAGIC = 0xed0cdaed;
const VERSION = 2;

export type Meta = {
  readonly pageBytes: number;
  /** Page of the root bucket. */
  readonly root: number;
  readonly freelist: number;
  /** How many pages there are. */
  readonly pages: number;
  readonly transaction: number;
};

export function encodeMeta(meta: Meta): Buffer {
  const bytes = Buffer.alloc(META_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  bytes.writeUInt32LE(VERSION, 4);
  bytes.writeUInt32LE(meta.pageBytes, 8);
  bytes.writeBigUInt64LE(BigInt(meta.root), 16);
  bytes.writeBigUInt64LE(BigInt(meta.freelist), 32);
  bytes.writeBigUInt64LE(BigInt(meta.pages), 40);
  bytes.writeBigUInt64LE(BigInt(meta.transaction), 48);
  bytes.writeBigUInt64LE(fnv1a(bytes.subarray(0, META_BYTES - 8)), META_BYTES - 8);
  return bytes;
}

/** Undefined if it is none, or not whole. */
export function decodeMeta(bytes: Buffer): Meta | undefined {
  if (bytes.length < META_BYTES || bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt32LE(4) !== VERSION)
    return undefined;
  if (bytes.readBigUInt64LE(META_BYTES - 8) !== fnv1a(bytes.subarray(0, META_BYTES - 8))) return undefined;
  return {
    pageBytes: bytes.readUInt32LE(8),
    root: Number(bytes.readBigUInt64LE(16)),
    freelist: Number(bytes.readBigUInt64LE(32)),
    pages: Number(bytes.readBigUInt64LE(40)),
    transaction: Number(bytes.readBigUInt64LE(48)),
  };
}

export function writePageHeader(page: Buffer, id: number, flags: number, count: number): void {
  page.writeBigUInt64LE(BigInt(id), 0);
  page.writeUInt16LE(flags, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(page.length / PAGE_BYTES - 1, 12);
}

function fnv1a(bytes: Buffer): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}
