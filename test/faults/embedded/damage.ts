/**
 * Damages to a file, as disks, cables and careless hands make them. A number decides all of a damage, so each can be made
 * again alone.
 */
import { randomFrom } from '../../support/random.ts';

const PAGE_BYTES = 16 * 1024;
const SECTOR_BYTES = 512;

export const damageKinds = [
  'flipped bits',
  'a flipped bit in the head of a page',
  'a page of zeros',
  'a sector of zeros',
  'two pages swapped',
  'a page of garbage',
  'a sector of garbage',
  'a page from the past',
  'a header page from the past',
  'a sector from the past',
  'cut short',
] as const;
export type DamageKind = (typeof damageKinds)[number];

export type Damaged = { readonly kind: DamageKind; readonly bytes: Buffer };

/** `past` are copies of the same file as it was before, one of which gives the pages from the past. */
export function damage(whole: Buffer, past: readonly Buffer[], seed: number): Damaged {
  const random = randomFrom(seed);
  const pick = (below: number) => Math.floor(random() * below);
  const kind = damageKinds[pick(damageKinds.length)]!;
  const pages = whole.length / PAGE_BYTES;
  const bytes = Buffer.from(whole);
  const flip = (at: number) => {
    bytes[at]! ^= 1 << pick(8);
  };
  const garbage = (length: number) => Buffer.from(Array.from({ length }, () => pick(256)));
  const old = () => past[pick(past.length)]!;
  /** From the past, as far as the file was that long then. */
  const bringBack = (from: number, length: number) => {
    old()
      .subarray(from, from + length)
      .copy(bytes, from);
  };
  switch (kind) {
    case 'flipped bits':
      for (let flips = 1 + pick(8); flips > 0; flips--) flip(pick(bytes.length));
      break;
    case 'a flipped bit in the head of a page':
      flip(pick(pages) * PAGE_BYTES + pick(200));
      break;
    case 'a page of zeros':
      bytes.fill(0, ...extent(pick(pages), PAGE_BYTES));
      break;
    case 'a sector of zeros':
      bytes.fill(0, ...extent(pick(whole.length / SECTOR_BYTES), SECTOR_BYTES));
      break;
    case 'two pages swapped': {
      const [a, b] = [pick(pages) * PAGE_BYTES, pick(pages) * PAGE_BYTES];
      whole.copy(bytes, a, b, b + PAGE_BYTES);
      whole.copy(bytes, b, a, a + PAGE_BYTES);
      break;
    }
    case 'a page of garbage':
      garbage(PAGE_BYTES).copy(bytes, pick(pages) * PAGE_BYTES);
      break;
    case 'a sector of garbage':
      garbage(SECTOR_BYTES).copy(bytes, pick(whole.length / SECTOR_BYTES) * SECTOR_BYTES);
      break;
    case 'a page from the past':
      for (let count = 1 + pick(3); count > 0; count--) bringBack(pick(pages) * PAGE_BYTES, PAGE_BYTES);
      break;
    case 'a header page from the past':
      bringBack(pick(2) * PAGE_BYTES, PAGE_BYTES);
      break;
    case 'a sector from the past':
      bringBack(pick(whole.length / SECTOR_BYTES) * SECTOR_BYTES, SECTOR_BYTES);
      break;
    case 'cut short':
      return { kind, bytes: bytes.subarray(0, pick(bytes.length)) };
  }
  return { kind, bytes };
}

function extent(index: number, length: number): [from: number, to: number] {
  return [index * length, (index + 1) * length];
}
