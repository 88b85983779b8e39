/**
 * Keys and ranges of keys. A key is a binary string (see Key in kv.ts), so bytes compare as strings do; a range is
 * reduced to its bounds once, and everything below works on bounds.
 */
import { StoreError } from './errors.ts';
import type { Key, KeyRange } from './kv.ts';

/** `start` ≤ key < `end`; no `end` means all keys from `start` on. */
export type Bounds = { readonly start: Key; readonly end: Key | undefined };

const onlyAscii = /^[\0-\x7f]*$/;

/** Text of plain ASCII, which most is, is its own key. */
export function keyFromText(text: string): Key {
  return onlyAscii.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

export function keyToText(key: Key): string {
  return Buffer.from(key, 'latin1').toString('utf8');
}

export function keyFromBytes(bytes: Uint8Array): Key {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

export function keyToBytes(key: Key): Buffer {
  return Buffer.from(key, 'latin1');
}

export const everyKey: KeyRange = { prefix: '' };

export function boundsOf(range: KeyRange): Bounds {
  if ('key' in range) return { start: checkKey(range.key), end: `${range.key}\0` };
  if ('prefix' in range) return { start: checkBytes(range.prefix), end: prefixEnd(range.prefix) };
  if (range.end !== undefined && range.end <= range.start)
    throw new StoreError(
      'InvalidArgument',
      `Cannot use range ${quote(range.start)} to ${quote(range.end)}: it is empty, its end must be above its start`,
    );
  return { start: checkBytes(range.start), end: range.end === undefined ? undefined : checkBytes(range.end) };
}

export function isInBounds(key: Key, { start, end }: Bounds): boolean {
  return key >= start && (end === undefined || key < end);
}

/** The first key after all keys with this prefix; undefined if there is none (empty, or all bytes 0xff). */
export function prefixEnd(prefix: Key): Key | undefined {
  for (let i = prefix.length - 1; i >= 0; i--) {
    const byte = prefix.charCodeAt(i);
    if (byte < 0xff) return prefix.slice(0, i) + String.fromCharCode(byte + 1);
  }
  return undefined;
}

export function checkKey(key: Key): Key {
  if (key === '') throw new StoreError('InvalidArgument', 'Cannot use an empty key: a key has at least one byte');
  return checkBytes(key);
}

/** A revision to read at, a limit: 0 is none. */
export function checkNotNegative(what: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new StoreError('InvalidArgument', `Cannot use ${what} ${value}: it takes a whole number, 0 for none`);
}

function checkBytes(key: Key): Key {
  if (/[^\0-\xff]/.test(key))
    throw new StoreError(
      'InvalidArgument',
      `Cannot use key ${quote(key)}: it has a character above U+00FF, make it a key with keyFromText()`,
    );
  return key;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
