/**
 * One-time keys, and the sessions they are exchanged for.
 *
 * A session is two secrets: one in a cookie that scripts cannot read, and one that the page itself holds and sends in a
 * header. Cookies of 127.0.0.1 go to every port, also to one on which another user of the machine listens; what a page
 * stores belongs to its port. So neither is enough alone, for reading anything.
 *
 * Always true: a key is good once; only digests of secrets are kept, and found by them, so that time tells nothing; there are at most
 * `LIMIT` sessions, and the oldest goes when one more comes.
 */
import { createHash, randomBytes } from 'node:crypto';

const SECRET = /^[\w-]{43}$/;
export const COOKIE_ATTRIBUTES = 'HttpOnly; SameSite=Strict';

const LIMIT = 64;

type Session<T> = { readonly page: string; readonly owner: T };

export class PageKeys<T> {
  /** By their digests, in the order they were made. */
  readonly #keys = new Map<string, T>();
  readonly #sessions = new Map<string, Session<T>>();

  /** For whoever is shown it. */
  issue(owner: T): string {
    const key = secret();
    this.#keys.set(digest(key), owner);
    if (this.#keys.size > LIMIT) this.#keys.delete(firstOf(this.#keys));
    return key;
  }

  /** Undefined: no such key, or it was used. */
  exchange(key: string): { readonly cookie: string; readonly page: string } | undefined {
    const id = SECRET.test(key) ? digest(key) : '';
    const owner = this.#keys.get(id);
    if (owner === undefined) return undefined;
    this.#keys.delete(id);
    const [cookie, page] = [secret(), secret()];
    this.#sessions.set(digest(cookie), { page: digest(page), owner });
    if (this.#sessions.size > LIMIT) this.#sessions.delete(firstOf(this.#sessions));
    return { cookie, page };
  }

  /** Whose session it is, by its cookie alone: enough for the page itself, which holds nothing. */
  ownerOf(cookie: string | undefined): T | undefined {
    return this.#find(cookie)?.owner;
  }

  /** By both secrets: enough for what the page shows. */
  readerOf(cookie: string | undefined, page: string | undefined): T | undefined {
    const session = this.#find(cookie);
    return session && page !== undefined && session.page === digest(page) ? session.owner : undefined;
  }

  #find(cookie: string | undefined): Session<T> | undefined {
    if (cookie === undefined || !SECRET.test(cookie)) return undefined;
    return this.#sessions.get(digest(cookie));
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

function firstOf(all: ReadonlyMap<string, unknown>): string {
  return all.keys().next().value ?? '';
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
