/**
 * The header of one entry of a tar archive, as bytes and back: ustar, with a pax header before it for what does not fit
 * (names over 100 bytes, sizes over 8 GiB).
 *
 * Read is what GNU tar, busybox and bsdtar write: base-256 numbers, pax records, GNU's long names. A block whose checksum does not fit
 * is refused: what follows could be anything.
 */
export const BLOCK_BYTES = 512;

export type TarKind = 'file' | 'folder' | 'symlink' | 'hardlink' | 'other';

export type TarEntry = {
  readonly name: string;
  readonly kind: TarKind;
  /** Of its content; 0 for all but files. */
  readonly size: number;
  /** Permissions: the lower nine bits. */
  readonly mode: number;
  /** Of a link: where to. */
  readonly linkName: string;
};

/** As it stands in the archive: with the letter of its type, and what pax and GNU put into entries of their own. */
export type RawHeader = TarEntry & { readonly type: string };

const FLAGS: Readonly<Record<Exclude<TarKind, 'other'>, string>> = {
  file: '0',
  hardlink: '1',
  symlink: '2',
  folder: '5',
};
const KINDS: Readonly<Record<string, TarKind>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'folder',
};
const NAME_BYTES = 100;
const MAX_OCTAL = 8 ** 11 - 1;

/** One or three blocks and more: the pax header first, if one is needed. */
export function encodeHeader(entry: TarEntry & { readonly kind: Exclude<TarKind, 'other'> }): Buffer {
  const records: string[] = [];
  if (Buffer.byteLength(entry.name) > NAME_BYTES) records.push(paxRecord('path', entry.name));
  if (Buffer.byteLength(entry.linkName) > NAME_BYTES) records.push(paxRecord('linkpath', entry.linkName));
  if (entry.size > MAX_OCTAL) records.push(paxRecord('size', String(entry.size)));
  const own = block(entry, FLAGS[entry.kind]);
  if (records.length === 0) return own;
  const text = Buffer.from(records.join(''));
  const head = block({ name: 'pax', size: text.length, mode: 0o644, linkName: '' }, 'x');
  return Buffer.concat([head, text, padding(text.length), own]);
}

/** What fills the last block of a content of this size. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** Undefined for a block of zeros, with which an archive ends. */
export function decodeHeader(bytes: Buffer): RawHeader | undefined {
  if (bytes.every((byte) => byte === 0)) return undefined;
  if (checksum(bytes) !== numberIn(bytes, 148, 8)) throw new Error('its header is damaged');
  const isUstar = bytes.toString('latin1', 257, 262) === 'ustar';
  const prefix = isUstar && bytes[263] !== 0x20 ? textIn(bytes, 345, 155) : ''; // GNU has other things there
  const name = textIn(bytes, 0, NAME_BYTES);
  const type = String.fromCharCode(bytes[156]!);
  return {
    type,
    name: prefix ? `${prefix}/${name}` : name,
    kind: type in KINDS ? KINDS[type]! : 'other',
    size: numberIn(bytes, 124, 12),
    mode: numberIn(bytes, 100, 8) & 0o777,
    linkName: textIn(bytes, 157, NAME_BYTES),
  };
}

/** The records of a pax header: `length key=value` and a line feed, the length that of the whole record. */
export function decodePax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, Math.min(space, at + 20)));
    const end = at + length;
    if (space < 0 || !Number.isInteger(length) || end <= space || end > bytes.length)
      throw new Error('its pax header is damaged');
    const [record, equals] = [bytes.subarray(space + 1, end - 1), bytes.indexOf(0x3d, space + 1)];
    if (equals < 0 || equals >= end) throw new Error('its pax header is damaged');
    const keyLength = equals - space - 1;
    records.set(record.toString('utf8', 0, keyLength), record.toString('utf8', keyLength + 1));
    at = end;
  }
  return records;
}

function block({ name, size, mode, linkName }: Omit<TarEntry, 'kind'>, type: string): Buffer {
  const bytes = Buffer.alloc(BLOCK_BYTES);
  Buffer.from(name).copy(bytes, 0, 0, NAME_BYTES);
  const octal = (value: number, at: number, length: number) =>
    bytes.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  octal(mode & 0o777, 100, 8);
  octal(0, 108, 8); // owner and group are the receiver's
  octal(0, 116, 8);
  octal(Math.min(size, MAX_OCTAL), 124, 12);
  octal(0, 136, 12);
  bytes.write(type, 156, 'latin1');
  Buffer.from(linkName).copy(bytes, 157, 0, NAME_BYTES);
  bytes.write('ustar\x0000', 257, 'latin1');
  bytes.write(`${checksum(bytes).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}

function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (length !== rest + String(length).length) length++;
  return `${length} ${key}=${value}\n`;
}

/** With the field of the checksum itself taken for spaces. */
function checksum(bytes: Buffer): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of bytes.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}

function textIn(bytes: Buffer, from: number, length: number): string {
  const field = bytes.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

/** Octal digits, or GNU's binary form for what is too large for them. */
function numberIn(bytes: Buffer, from: number, length: number): number {
  const field = bytes.subarray(from, from + length);
  const isBinary = (field[0]! & 0x80) !== 0;
  const value = isBinary
    ? field.reduce((sum, byte, at) => sum * 256 + (at === 0 ? byte & 0x7f : byte), 0)
    : Number.parseInt(field.toString('latin1').replace(/[\0 ]/g, '') || '0', 8);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error('a number in its header is damaged');
  return value;
}
