/**
 * Addresses and ranges of addresses, read as kube-apiserver reads them: leniently (zeros in front, IPv4 inside of
 * IPv6), with the refusals for what it takes no longer and the warnings for what it will not take one day.
 *
 * An address is its bytes, 4 or 16; an IPv4 address inside of an IPv6 one has become 4. Nothing throws.
 */
import { isIP } from 'node:net';
import { invalidValue, quote } from '../../../api/index.ts';
import type { Check } from './field-table.ts';

export type Address = {
  readonly bytes: readonly number[];
  /** Written as IPv6 (`::ffff:1.2.3.4`). */
  readonly isMapped: boolean;
  readonly hasLeadingZeros: boolean;
};

export type Range = { readonly address: Address; readonly bits: number; readonly hasLeadingZeros: boolean };

const MAX_CHARACTERS = 64;
/** As nearly all are written, and no other way to write it. */
const plainFour = /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){3}$/;
const addressText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const rangeText = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const tail = /(^|:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const parts = tail ? tail.slice(2, 6) : [];
  const hasLeadingZeros = parts.some((part) => /^0\d/.test(part));
  const plain = tail ? `${text.slice(0, tail.index)}${tail[1]}${parts.map((part) => Number(part)).join('.')}` : text;
  const family = isIP(plain);
  if (family === 0 || plain.includes('%')) return undefined;
  if (family === 4) return { bytes: plain.split('.').map(Number), isMapped: false, hasLeadingZeros };
  const bytes = bytesOfSix(plain);
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return { bytes: isMapped ? bytes.slice(12) : bytes, isMapped, hasLeadingZeros };
}

export function parseRange(text: string): Range | undefined {
  const [host = '', length = '', ...more] = text.split('/');
  const address = parseAddress(host);
  if (!address || more.length > 0 || !/^\d{1,4}$/.test(length)) return undefined;
  const bits = Number(length);
  const size = address.isMapped ? 128 : address.bytes.length * 8;
  if (bits > size) return undefined;
  return { address, bits, hasLeadingZeros: address.hasLeadingZeros || String(bits) !== length };
}

/** In canonical form; an address inside of IPv6 as what it is. */
export function showAddress({ bytes }: Pick<Address, 'bytes'>): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_none, index) => (bytes[index * 2]! << 8) | bytes[index * 2 + 1]!);
  const run = longestZeros(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':');
  return run.length < 2
    ? hex(groups)
    : `${hex(groups.slice(0, run.start))}::${hex(groups.slice(run.start + run.length))}`;
}

/** The one way to write what may be written in many; what is no address stays as it is. */
export function canonicalAddress(text: string): string {
  if (plainFour.test(text)) return text;
  const address = parseAddress(text);
  return address ? showAddress(address) : text;
}

/** The range itself, without what stands behind its bits. */
function showRange({ address, bits }: Range): string {
  return `${showAddress({ bytes: masked(address.bytes, ownBits(address, bits)) })}/${ownBits(address, bits)}`;
}

export function isIn(address: Address, { address: network, bits }: Range): boolean {
  if (address.bytes.length !== network.bytes.length) return false;
  const length = ownBits(network, bits);
  return masked(address.bytes, length).join() === masked(network.bytes, length).join();
}

function ownBits(address: Address, bits: number): number {
  return address.isMapped ? Math.max(0, bits - 96) : bits;
}

function masked(bytes: readonly number[], bits: number): number[] {
  return bytes.map((byte, index) => byte & (0xff << (8 - Math.min(8, Math.max(0, bits - index * 8)))) & 0xff);
}

/** Why it is no address as one is written; `isCanonical`: in one way only. */
export function checkIpAddress(text: string, isCanonical = false): string[] {
  const address = parseAddress(text);
  if (!address) return [addressText];
  if (address.hasLeadingZeros) return ['must not have leading 0s'];
  if (address.isMapped) return ['must not be an IPv4-mapped IPv6 address'];
  const canonical = showAddress(address);
  return isCanonical && canonical !== text ? [`must be in canonical form (${quote(canonical)})`] : [];
}

export function checkRange(text: string, isCanonical = false): string[] {
  const range = parseRange(text);
  if (!range) return [rangeText];
  const isMasked =
    masked(range.address.bytes, ownBits(range.address, range.bits)).join() === range.address.bytes.join();
  if (range.hasLeadingZeros) return ['must not have leading 0s in IP or prefix length'];
  if (range.address.isMapped) return ['must not have an IPv4-mapped IPv6 address'];
  if (!isMasked) return ['must not have bits set beyond the prefix length'];
  return isCanonical && showRange(range) !== text ? [`must be in canonical form (${quote(showRange(range))})`] : [];
}

export const ipAddress: Check = (value, path) =>
  checkIpAddress(String(value ?? '')).map((problem) => invalidValue(path, value ?? '', problem));
export const ipRange: Check = (value, path) =>
  checkRange(String(value ?? '')).map((problem) => invalidValue(path, value ?? '', problem));

/** An address with the range it is in: `10.9.8.7/24`. */
export const interfaceAddress: Check = (value, path) => {
  const text = String(value ?? '');
  const range = parseRange(text);
  if (!range)
    return [invalidValue(path, text, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)')];
  const canonical = `${showAddress(range.address)}/${ownBits(range.address, range.bits)}`;
  return text === canonical ? [] : [invalidValue(path, text, `must be in canonical form (${quote(canonical)})`)];
};

const special: readonly (readonly [ranges: readonly string[], problem: string])[] = [
  [['0.0.0.0/32', '::/128'], 'may not be unspecified (0.0.0.0 or ::)'],
  [['127.0.0.0/8', '::1/128'], 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [['169.254.0.0/16', 'fe80::/10'], 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [['224.0.0.0/24', 'ff02::/16'], 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
];
const specialRanges = special.map(([ranges, problem]) => ({
  ranges: ranges.map((text) => parseRange(text)!),
  problem,
}));

/** Addresses that mean something else on every machine lead nowhere. */
export function checkOrdinaryAddress(text: string): string[] {
  const address = parseAddress(text);
  if (!address) return ['must be a valid IP address'];
  return specialRanges
    .filter(({ ranges }) => ranges.some((range) => isIn(address, range)))
    .map(({ problem }) => problem);
}

export function warningsForAddress(path: string, text: string): string[] {
  const address = parseAddress(text);
  if (!address) return [];
  const canonical = showAddress(address);
  if (address.hasLeadingZeros || address.isMapped) return [nonStandard(path, 'IP address', text, canonical)];
  if (address.bytes.length === 4 || canonical === text) return [];
  return [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

export function warningsForRange(path: string, text: string): string[] {
  const range = parseRange(text);
  if (!range) return [];
  const canonical = showRange(range);
  if (range.hasLeadingZeros || range.address.isMapped) return [nonStandard(path, 'CIDR value', text, canonical)];
  const host = showAddress(range.address);
  if (showAddress({ bytes: masked(range.address.bytes, range.bits) }) !== host) {
    const single = `${host}/${range.address.bytes.length * 8}`;
    return [
      `${path}: CIDR value ${quote(text)} is ambiguous in this context (should be ${quote(canonical)} or ${quote(single)}?)`,
    ];
  }
  if (range.address.bytes.length === 4 || canonical === text) return [];
  return [`${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

function nonStandard(path: string, what: string, text: string, canonical: string): string {
  return `${path}: non-standard ${what} ${quote(text)} is invalid: use ${quote(canonical)}`;
}

/** `plain` is known to be one. */
function bytesOfSix(plain: string): number[] {
  const [front = '', back] = plain.split('::');
  const groupsOf = (text: string) =>
    text === ''
      ? []
      : text.split(':').flatMap((group) => {
          if (!group.includes('.')) return [Number.parseInt(group, 16)];
          const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
          return [(a << 8) | b, (c << 8) | d];
        });
  const [head, tail] = [groupsOf(front), back === undefined ? [] : groupsOf(back)];
  const groups = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}
