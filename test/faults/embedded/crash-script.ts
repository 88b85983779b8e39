/**
 * What the writer that gets killed and the one who checks afterwards agree on: which keys a transaction changes, what
 * it writes there, and the lines by which the writer tells what it is about to do and what was answered.
 *
 * Each writer has its own keys and changes all of them in every transaction, so one that is half there shows.
 */
import type { Key, Op } from '../../../src/store/kv.ts';

export const WRITERS = 6;

/** The first writer makes transactions of many keys, the second big values. */
const KEYS_OF = [100, 3, 8, 8, 8, 8];
const SIZES_OF = [50, 20_000, 300, 300, 300, 300];

export type Attempt = {
  readonly id: string;
  readonly writer: number;
  readonly kind: 'put' | 'delete';
  readonly bytes: number;
};

export type Line =
  | { readonly tell: 'opening' | 'ready' }
  | ({ readonly tell: 'try' } & Attempt)
  | { readonly tell: 'ack'; readonly id: string; readonly revision: number }
  | { readonly tell: 'compacting' | 'compacted'; readonly revision: number };

export function keysOf(writer: number): Key[] {
  return Array.from({ length: KEYS_OF[writer]! }, (_, i) => `w${writer}/${String(i).padStart(3, '0')}`);
}

export function sizeFor(writer: number, fraction: number): number {
  return Math.floor(fraction * SIZES_OF[writer]!);
}

export function valueFor({ id, bytes }: Attempt, key: Key): Buffer {
  return Buffer.from(`${id} ${key} ${'.'.repeat(bytes)}`);
}

export function opsOf(attempt: Attempt): Op[] {
  if (attempt.kind === 'delete') return [{ kind: 'delete', range: { prefix: `w${attempt.writer}/` } }];
  return keysOf(attempt.writer).map((key) => ({ kind: 'put', key, value: valueFor(attempt, key) }));
}
