/**
 * Reads the buckets of a bbolt file, entries in order of keys.
 *
 * Always true: it believes nothing it reads: pages lie within the file, elements within their pages, and a walk
 * visits no more pages than the file has. It fails with Corrupt where it is otherwise.
 */
import type { FileHandle } from 'node:fs/promises';
import { StoreError } from '../errors.ts';
import {
  BUCKET_BYTES,
  BUCKET_FLAG,
  decodeMeta,
  ELEMENT_BYTES,
  type Meta,
  PAGE_HEADER_BYTES,
  pageFlag,
} from './bbolt-format.ts';

export type BboltEntry = { readonly key: Buffer; readonly value: Buffer };

const PAGE_SIZES = [4096, 1024, 2048, 8192, 16384, 32768, 65536];

export class BboltReader {
  readonly #handle: FileHandle;
  readonly #meta: Meta;

  private constructor(handle: FileHandle, meta: Meta) {
    this.#handle = handle;
    this.#meta = meta;
  }

  /** `bytes`: how much of the file is the database. */
  static async open(handle: FileHandle, bytes: number): Promise<BboltReader> {
    const metas: Meta[] = [];
    for (const pageBytes of PAGE_SIZES)
      for (const page of [0, 1]) {
        const meta = decodeMeta(await readAt(handle, page * pageBytes + PAGE_HEADER_BYTES, 64));
        if (meta?.pageBytes === pageBytes) metas.push(meta);
      }
    const [meta] = metas.sort((a, b) => b.transaction - a.transaction);
    if (!meta) throw corrupt('it has no valid meta page');
    if (meta.pages * meta.pageBytes > bytes) throw corrupt(`it is cut short, ${meta.pages} pages are missing in part`);
    return new BboltReader(handle, meta);
  }

  /** A leaf at a time; nothing if there is no such bucket. */
  async *entries(bucket: string): AsyncGenerator<readonly BboltEntry[], void, void> {
    const root = await this.#rootOf(bucket);
    if (typeof root === 'number') yield* this.#leaves(root);
    else if (root) yield leafElements(root);
  }

  /** The page at its top, or the small page in place. */
  async #rootOf(bucket: string): Promise<number | Buffer | undefined> {
    const name = Buffer.from(bucket);
    for await (const leaf of this.#leaves(this.#meta.root))
      for (const { key, value, flags } of leaf) {
        if ((flags & BUCKET_FLAG) === 0 || !key.equals(name)) continue;
        if (value.length < BUCKET_BYTES) throw corrupt(`bucket ${bucket} has no root`);
        return Number(value.readBigUInt64LE(0)) || value.subarray(BUCKET_BYTES);
      }
    return undefined;
  }

  /** From left to right; what is still to be looked at waits on a stack. */
  async *#leaves(root: number): AsyncGenerator<LeafElement[], void, void> {
    const waiting = [root];
    for (let visits = 0; waiting.length > 0; visits++) {
      if (visits > this.#meta.pages) throw corrupt('its pages lead in a circle');
      const id = waiting.pop()!;
      const page = await this.#page(id);
      const flags = page.readUInt16LE(8);
      if (flags === pageFlag.leaf) yield leafElements(page);
      else if (flags === pageFlag.branch) waiting.push(...childrenOf(page).reverse());
      else throw corrupt(`page ${id} is of no tree`);
    }
  }

  async #page(id: number): Promise<Buffer> {
    const { pageBytes, pages } = this.#meta;
    if (!Number.isSafeInteger(id) || id < 2 || id >= pages) throw corrupt(`it refers to page ${id} of ${pages}`);
    const first = await readAt(this.#handle, id * pageBytes, pageBytes);
    const overflow = first.readUInt32LE(12);
    if (id + overflow >= pages) throw corrupt(`page ${id} goes on beyond the end`);
    if (overflow === 0) return first;
    return await readAt(this.#handle, id * pageBytes, (overflow + 1) * pageBytes);
  }
}

type LeafElement = BboltEntry & { readonly flags: number };

function leafElements(page: Buffer): LeafElement[] {
  return elementsOf(page).map((element) => {
    const flags = page.readUInt32LE(element);
    const start = element + page.readUInt32LE(element + 4);
    const middle = start + page.readUInt32LE(element + 8);
    const end = middle + page.readUInt32LE(element + 12);
    if (end > page.length) throw corrupt('an entry lies outside of its page');
    return { flags, key: page.subarray(start, middle), value: page.subarray(middle, end) };
  });
}

function childrenOf(page: Buffer): number[] {
  return elementsOf(page).map((element) => Number(page.readBigUInt64LE(element + 8)));
}

/** Where the elements of a page are. */
function elementsOf(page: Buffer): number[] {
  if (page.length < PAGE_HEADER_BYTES) throw corrupt('a page is shorter than its header');
  const count = page.readUInt16LE(10);
  if (PAGE_HEADER_BYTES + count * ELEMENT_BYTES > page.length) throw corrupt('a page has more entries than fit');
  return Array.from({ length: count }, (_, i) => PAGE_HEADER_BYTES + i * ELEMENT_BYTES);
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return bytesRead < length && bytesRead < PAGE_HEADER_BYTES ? Buffer.alloc(length) : buffer;
}

function corrupt(what: string): StoreError {
  return new StoreError('Corrupt', `Cannot read the snapshot of etcd: ${what}`);
}
