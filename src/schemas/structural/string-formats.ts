/**
 * What the `format` of a string means. A format that is not here says nothing about the value, as in kube-apiserver.
 * No pattern repeats inside a repeat over the same characters, so no text makes them slow.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { checkDnsLabel, checkDnsSubdomain, parseGoDuration } from '../../api/index.ts';

type FormatCheck = (text: string) => boolean;

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$/i;
const timePattern = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|[+-]\d{2}:\d{2})$/i;
const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/;
/** One part of `1h 30 minutes`; words before the letters that they begin with. */
const spanPart = /\d+(?:\.\d+)? ?(?:(?:nano|micro|milli|sec|min|hour|day|week)[a-z]{0,8}|ns|[uµμ]s|ms|s|m|h|d|w)\s?/iy;

const checks: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['date', isDate],
  ['date-time', isDateTime],
  ['datetime', isDateTime],
  ['duration', isDuration],
  ['byte', isBase64],
  ['uri', isUri],
  ['email', (text) => /^[^\s@<>,;]+@[^\s@<>,;]+$/.test(text)],
  ['hostname', (text) => text.length <= 253 && text.split('.').every((part) => /^[a-z0-9-]{1,63}$/i.test(part))],
  ['ipv4', isIPv4],
  ['ipv6', isIPv6],
  ['cidr', isCidr],
  [
    'mac',
    (text) => /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}([:-][0-9a-f]{2}){0,14}$|^[0-9a-f]{4}(\.[0-9a-f]{4}){2,9}$/i.test(text),
  ],
  ['uuid', (text) => uuidPattern.test(text)],
  ['uuid3', (text) => uuidPattern.exec(text)?.[1] === '3'],
  ['uuid4', (text) => isUuidVersion(text, '4')],
  ['uuid5', (text) => isUuidVersion(text, '5')],
  ['hexcolor', (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ['rgbcolor', (text) => /^rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)$/.test(text)],
  ['isbn', (text) => /^(\d{9}[\dX]|\d{13})$/.test(text.replace(/[\s-]/g, ''))],
  ['isbn10', (text) => /^\d{9}[\dX]$/.test(text.replace(/[\s-]/g, ''))],
  ['isbn13', (text) => /^\d{13}$/.test(text.replace(/[\s-]/g, ''))],
  ['creditcard', (text) => /^\d{13,19}$/.test(text.replace(/[\s-]/g, ''))],
  ['ssn', (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['k8s-short-name', (text) => checkDnsLabel(text).length === 0],
  ['k8s-long-name', (text) => checkDnsSubdomain(text).length === 0],
]);

/** Those of numbers, and one that is only for who reads it. */
const otherFormats: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double', 'password']);

export function isKnownFormat(format: string): boolean {
  return checks.has(format) || otherFormats.has(format);
}

/** Undefined for a format that says nothing. */
export function formatCheck(format: string): FormatCheck | undefined {
  return checks.get(format);
}

function isDateTime(text: string): boolean {
  const at = text.search(/t/i);
  const time = timePattern.exec(text.slice(at + 1));
  if (at < 0 || !time || !isDate(text.slice(0, at))) return false;
  return Number(time[1]) < 24 && Number(time[2]) < 60 && Number(time[3]) < 60;
}

function isCidr(text: string): boolean {
  const slash = text.lastIndexOf('/');
  const version = isIP(text.slice(0, Math.max(slash, 0)));
  const bits = text.slice(slash + 1);
  return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

function isDuration(text: string): boolean {
  try {
    parseGoDuration(text);
    return true;
  } catch {
    return isSpan(text);
  }
}

function isSpan(text: string): boolean {
  spanPart.lastIndex = 0;
  do if (!spanPart.test(text)) return false;
  while (spanPart.lastIndex < text.length);
  return true;
}

function isDate(text: string): boolean {
  const match = datePattern.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isBase64(text: string): boolean {
  return text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function isUri(text: string): boolean {
  return text.startsWith('/') || (/^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text));
}

function isUuidVersion(text: string, version: string): boolean {
  const match = uuidPattern.exec(text);
  return match?.[1] === version && /[89ab]/i.test(match[2]!);
}
