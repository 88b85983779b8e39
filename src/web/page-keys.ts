/**
 * One-time keys, and the sessions they are exchanged for.
 *
 * A session is two secrets: one in a cookie that scripts cannot read, and one that the page itself holds and sends in a
 * header. Cookies of 127.0.0.1 go to every port, also to one on which another user of the machine listens; what a page
 * stores belongs to its port. So neither is enough alone, for reading anything.
 *
 * Always true: a key is good once; secrets are compared by digests, in constant time; there are at most `MAX_SESSIONS`, and
 * the oldest goes when one more comes.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const MAX_SESSIONS = 64;
const SECRET = /^[\w-]{43}$/;
export const COOKIE_ATTRIBUTES = 'HttpOnly; SameSite=Strict';

type Session<T> = { readonly cookie: Buffer; readonly page: Buffer; readonly owner: T };

export class PageKeys<T> {
  readonly #keys: { readonly digest: Buffer; readonly owner: T }[] = [];
  readonly #sessions: Session<T>[] = [];

  /** For whoever is shown it. */
  issue(owner: T): string {
    const key = secret();
    this.#keys.push({ digest: digest(key), owner });
    if (this.#keys.length > MAX_SESSIONS) this.#keys.shift();
    return key;
  }

  /** Undefined: no such key, or it was used. */
  exchange(key: string): { readonly cookie: string; readonly page: string } | undefined {
    const found = findBy(this.#keys, key, 'digest');
    if (!found) return undefined;
    this.#keys.splice(this.#keys.indexOf(found), 1);
    return this.open(found.owner);
  }

  /** A session without a key: its owner has proved who they are in another way. */
  open(owner: T): { readonly cookie: string; readonly page: string } {
    const [cookie, page] = [secret(), secret()];
    this.#sessions.push({ cookie: digest(cookie), page: digest(page), owner });
    if (this.#sessions.length > MAX_SESSIONS) this.#sessions.shift();
    return { cookie, page };
  }

  /** Whose session it is, by its cookie alone: enough for the page itself, which holds nothing. */
  ownerOf(cookie: string | undefined): T | undefined {
    return findBy(this.#sessions, cookie, 'cookie')?.owner;
  }

  /** By both secrets: enough for what the page shows. */
  readerOf(cookie: string | undefined, page: string | undefined): T | undefined {
    const session = findBy(this.#sessions, cookie, 'cookie');
    return session && findBy([session], page, 'page')?.owner;
  }
}

/** The value of a cookie in a Cookie header. */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at !== -1 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

function findBy<K extends string, S extends { readonly [key in K]: Buffer }>(
  all: readonly S[],
  text: string | undefined,
  field: K,
): S | undefined {
  if (text === undefined || !SECRET.test(text)) return undefined;
  const wanted = digest(text);
  return all.find((one) => timingSafeEqual(one[field], wanted));
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
