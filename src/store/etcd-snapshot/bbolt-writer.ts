/**
 * Writes a bbolt file from front to back: buckets one after the other, each with its keys in order.
 *
 * Always true: a leaf is written when it is full and never touched again; of each only its first key and number are
 * kept, until the branches above them are written. There are no free pages. The file is valid once `finish` is through,
 * and not before: the metas at its beginning come last.
 */
import type { FileHandle } from 'node:fs/promises';
import {
  BUCKET_BYTES,
  BUCKET_FLAG,
  ELEMENT_BYTES,
  encodeMeta,
  META_BYTES,
  PAGE_BYTES,
  PAGE_HEADER_BYTES,
  pageFlag,
  writePageHeader,
} from './bbolt-format.ts';

type Item = { readonly key: Buffer; readonly value: Buffer; readonly flags: number };
type Child = { readonly key: Buffer; readonly page: number };

const FREELIST_PAGE = 2;
const FIRST_PAGE = 3;

export class BboltWriter {
  readonly #handle: FileHandle;
  readonly #buckets: Item[] = [];
  #nextPage = FIRST_PAGE;
  #unwritten: Buffer[] = [];
  #unwrittenBytes = 0;
  #writtenPages = FIRST_PAGE;
  #items: Item[] = [];
  #itemBytes = PAGE_HEADER_BYTES;
  #leaves: Child[] = [];

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** The next entry of the bucket at hand; its key is above all before it. Call `flush` now and then. */
  add(key: Buffer, value: Buffer): void {
    const bytes = ELEMENT_BYTES + key.length + value.length;
    if (this.#items.length > 0 && this.#itemBytes + bytes > PAGE_BYTES) this.#endLeaf();
    this.#items.push({ key, value, flags: 0 });
    this.#itemBytes += bytes;
  }

  /** What was added since the last one is a bucket of this name. */
  endBucket(name: string): void {
    const root = this.#endTree();
    const value = Buffer.alloc(BUCKET_BYTES);
    value.writeBigUInt64LE(BigInt(root), 0);
    this.#buckets.push({ key: Buffer.from(name), value, flags: BUCKET_FLAG });
  }

  /** Writes the pages that are full. */
  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#unwritten, this.#unwrittenBytes);
    await this.#handle.write(bytes, 0, bytes.length, this.#writtenPages * PAGE_BYTES);
    this.#writtenPages = this.#nextPage;
    this.#unwritten = [];
    this.#unwrittenBytes = 0;
  }

  /** Answers how long the file is. */
  async finish(): Promise<number> {
    for (const bucket of this.#buckets.toSorted((a, b) => a.key.compare(b.key))) {
      this.#items.push(bucket);
      this.#itemBytes += ELEMENT_BYTES + bucket.key.length + bucket.value.length;
    }
    const root = this.#endTree();
    await this.flush();
    const head = Buffer.alloc(FIRST_PAGE * PAGE_BYTES);
    for (const transaction of [0, 1]) {
      const page = head.subarray(transaction * PAGE_BYTES, (transaction + 1) * PAGE_BYTES);
      const meta = { pageBytes: PAGE_BYTES, root, freelist: FREELIST_PAGE, pages: this.#nextPage, transaction };
      writePageHeader(page, transaction, pageFlag.meta, 0);
      encodeMeta(meta).copy(page, PAGE_HEADER_BYTES, 0, META_BYTES);
    }
    writePageHeader(head.subarray(FREELIST_PAGE * PAGE_BYTES), FREELIST_PAGE, pageFlag.freelist, 0);
    await this.#handle.write(head, 0, head.length, 0);
    return this.#nextPage * PAGE_BYTES;
  }

  /** The page at the top of the tree whose leaves have been added. */
  #endTree(): number {
    if (this.#items.length > 0 || this.#leaves.length === 0) this.#endLeaf();
    let level = this.#leaves;
    this.#leaves = [];
    while (level.length > 1) level = this.#writeBranches(level);
    return level[0]!.page;
  }

  #endLeaf(): void {
    const page = pageOf(this.#itemBytes);
    let at = PAGE_HEADER_BYTES + this.#items.length * ELEMENT_BYTES;
    for (const [i, { key, value, flags }] of this.#items.entries()) {
      const element = PAGE_HEADER_BYTES + i * ELEMENT_BYTES;
      page.writeUInt32LE(flags, element);
      page.writeUInt32LE(at - element, element + 4);
      page.writeUInt32LE(key.length, element + 8);
      page.writeUInt32LE(value.length, element + 12);
      at += key.copy(page, at);
      at += value.copy(page, at);
    }
    const key = this.#items[0]?.key ?? Buffer.alloc(0);
    this.#leaves.push({ key, page: this.#write(page, pageFlag.leaf, this.#items.length) });
    this.#items = [];
    this.#itemBytes = PAGE_HEADER_BYTES;
  }

  #writeBranches(children: readonly Child[]): Child[] {
    const level: Child[] = [];
    for (let from = 0; from < children.length; ) {
      let bytes = PAGE_HEADER_BYTES;
      let to = from;
      // Two at least, so that every level is shorter than the one below.
      while (to < children.length && (to < from + 2 || bytes + sizeOf(children[to]!) <= PAGE_BYTES))
        bytes += sizeOf(children[to++]!);
      const page = pageOf(bytes);
      let at = PAGE_HEADER_BYTES + (to - from) * ELEMENT_BYTES;
      for (let i = from; i < to; i++) {
        const { key, page: child } = children[i]!;
        const element = PAGE_HEADER_BYTES + (i - from) * ELEMENT_BYTES;
        page.writeUInt32LE(at - element, element);
        page.writeUInt32LE(key.length, element + 4);
        page.writeBigUInt64LE(BigInt(child), element + 8);
        at += key.copy(page, at);
      }
      level.push({ key: children[from]!.key, page: this.#write(page, pageFlag.branch, to - from) });
      from = to;
    }
    return level;
  }

  #write(page: Buffer, flags: number, count: number): number {
    const id = this.#nextPage;
    this.#nextPage += page.length / PAGE_BYTES;
    writePageHeader(page, id, flags, count);
    this.#unwritten.push(page);
    this.#unwrittenBytes += page.length;
    return id;
  }
}

function sizeOf({ key }: Child): number {
  return ELEMENT_BYTES + key.length;
}

function pageOf(bytes: number): Buffer {
  return Buffer.alloc(Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES);
}
