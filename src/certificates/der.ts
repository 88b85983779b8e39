/**
 * The few shapes of DER (ITU-T X.690) that a certificate is made of.
 *
 * Every function returns one whole element: tag, length, content. Lengths are definite and shortest, as DER wants.
 * Nothing is parsed here: what we make is read back by node:crypto.
 */
import { isIPv4 } from 'node:net';

export function sequence(...elements: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(elements));
}

/** Of one member: then the order that DER wants of a SET OF is no question. */
export function setOfOne(member: Buffer): Buffer {
  return element(0x31, member);
}

/** From big-endian bytes without a sign; a leading one bit gets its zero byte. */
export function positiveInteger(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const magnitude = bytes.subarray(start);
  return element(0x02, magnitude[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), magnitude]) : magnitude);
}

export function boolean(value: boolean): Buffer {
  return element(0x01, Buffer.from([value ? 0xff : 0x00]));
}

export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number);
  return element(0x06, Buffer.from([first! * 40 + second!, ...rest.flatMap(base128)]));
}

export function utf8String(text: string): Buffer {
  return element(0x0c, Buffer.from(text, 'utf8'));
}

export function octetString(content: Buffer): Buffer {
  return element(0x04, content);
}

/** `unusedBits` of the last byte do not count. */
export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([unusedBits]), content]));
}

/** UTCTime up to 2049, GeneralizedTime from then on (RFC 5280, 4.1.2.5). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return at.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(`${digits.slice(2)}Z`, 'latin1'))
    : element(0x18, Buffer.from(`${digits}Z`, 'latin1'));
}

/** `[number] EXPLICIT`: wraps a whole element. */
export function explicit(number: number, inner: Buffer): Buffer {
  return element(0xa0 | number, inner);
}

/** `[number] IMPLICIT` of a primitive type: takes the place of its tag. */
export function implicit(number: number, content: Buffer): Buffer {
  return element(0x80 | number, content);
}

/** The 4 or 16 bytes of an address that `net.isIP` accepts, without a zone. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const left = hextets(head);
  const right = tail === undefined ? [] : hextets(tail);
  const zeros = new Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

function hextets(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a, b, c, d] = group.split('.').map(Number);
    return [(a! << 8) | b!, (c! << 8) | d!];
  });
}

function element(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
