/**
 * The SHA-256 of a token, by which tokens are compared. A client shows the same one with every request, so digests of the
 * tokens seen last are kept.
 *
 * Always true: what is kept has a bound, in number and in bytes; a digest says nothing about whether a token is good.
 */
import { hash } from 'node:crypto';

const MOST_KEPT = 256;
/** Longer ones are rare, and hashing them is not what they cost. */
const MAX_KEPT_LENGTH = 2048;

/** Those of the present, and those before: dropped when there are as many new ones. */
let recent = new Map<string, Buffer>();
let before: ReadonlyMap<string, Buffer> = recent;

/** Not to be changed. */
export function digestOf(token: string): Buffer {
  const known = recent.get(token);
  if (known) return known;
  const digest = before.get(token) ?? hash('sha256', token, 'buffer');
  if (token.length > MAX_KEPT_LENGTH) return digest;
  if (recent.size >= MOST_KEPT) {
    before = recent;
    recent = new Map();
  }
  // A copy: the text is a part of its header, and would keep all of that.
  recent.set(Buffer.from(token, 'utf16le').toString('utf16le'), digest);
  return digest;
}
