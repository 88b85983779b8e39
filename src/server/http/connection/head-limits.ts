/**
 * What of a request's headers reaches anybody behind the HTTP server.
 *
 * A head may have a megabyte, as at kube-apiserver, but nobody reads a header of that size: one that is read and
 * longer than any of its kind is refused (431), and one that nobody reads is left out. So whatever parses a header
 * finds a short text, also a header that is read for the first time tomorrow.
 */

/** More than these, and Node would drop the rest without a word; ours is the number it is told. */
export const MAX_HEADERS = 1000;

const MAX_VALUE_BYTES = 8 * 1024;
const MAX_TOKEN_BYTES = 32 * 1024;

/** Headers that change what a request means, or who asks: without them it would be another request. */
const READ: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'audit-id',
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  ':authority',
  'if-none-match',
  'transfer-encoding',
  'user-agent',
]);
const READ_PREFIX = 'impersonate-';

/** Some may be missing then. `rawHeaders`: names and values in turn. */
export function hasTooManyHeaders(rawHeaders: readonly string[]): boolean {
  return rawHeaders.length >= MAX_HEADERS * 2;
}

/** False: 431. Takes long headers out that nobody reads. */
export function limitHead(headers: NodeJS.Dict<string | string[]>): boolean {
  for (const name in headers) {
    const value = headers[name]!;
    const limit = name === 'authorization' ? MAX_TOKEN_BYTES : MAX_VALUE_BYTES;
    if (lengthOf(value) <= limit || name === ':path') continue; // the path has a limit of its own
    if (READ.has(name) || name.startsWith(READ_PREFIX)) return false;
    delete headers[name];
  }
  return true;
}

function lengthOf(value: string | readonly string[]): number {
  if (typeof value === 'string') return value.length;
  return value.reduce((sum, { length }) => sum + length, 0);
}
