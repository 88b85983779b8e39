/**
 * The two meta pages that open lmdb's file. lmdb takes the newer one and maps as much as it says: a file that was cut short
 * would kill the process with SIGBUS, and a newer page that is damaged would silently be passed over for the older.
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { StoreError } from '../../errors.ts';
import { type MetaPage, PAGE_BYTES, readFully, readMetaPage } from './lmdb-pages.ts';

/** Far more than a store may hold, and not too much to be mapped. */
const MOST_MAP_BYTES = 2 ** 40;

/** Enough for a file that this process had open a moment ago; for others see lmdb-file-check.ts. */
export function checkLmdbHeader(file: string): void {
  const fd = openSync(file, 'r');
  try {
    const header = readHeader(fd);
    if (typeof header === 'string') throw damaged(file, header);
  } finally {
    closeSync(fd);
  }
}

export function damaged(file: string, what: string): StoreError {
  return new StoreError(
    'Corrupt',
    `Cannot open ${JSON.stringify(file)}: ${what}; keep the file, and restore a snapshot to a new directory`,
  );
}

/** The newer meta page, or what is wrong with the two. */
export function readHeader(fd: number): MetaPage | string {
  const { size } = fstatSync(fd);
  const page = Buffer.alloc(PAGE_BYTES);
  const metas: MetaPage[] = [];
  for (const index of [0, 1]) {
    if (!readFully(fd, page, PAGE_BYTES, index * PAGE_BYTES)) return tooShort(size);
    const meta = readMetaPage(page, index);
    if (typeof meta === 'string') return meta;
    metas.push(meta);
  }
  const [even, odd] = metas as [MetaPage, MetaPage];
  const newest = odd.transaction > even.transaction ? odd : even;
  const isNew = even.transaction === 0 && odd.transaction === 0;
  const isInPlace = even.transaction % 2 === 0 && odd.transaction % 2 === 1;
  if (!isNew && !(isInPlace && Math.abs(even.transaction - odd.transaction) === 1))
    return `its header is damaged: transactions ${even.transaction} and ${odd.transaction} do not follow each other`;
  const needed = (newest.lastPage + 1) * PAGE_BYTES;
  if (size < needed) return `it was cut short, ${size} of at least ${needed} bytes are left`;
  if (newest.mapBytes > MOST_MAP_BYTES) return `its header is damaged: it asks for ${newest.mapBytes} bytes of memory`;
  return newest;
}

function tooShort(size: number): string {
  return size === 0 ? 'it is empty' : `it is not a store of ours, or it was cut short to ${size} bytes`;
}
