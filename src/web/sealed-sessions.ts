/**
 * Sessions that nobody keeps: the credential they stand for is in the cookie, sealed with a key that only the server has,
 * so every thread of it knows every session, and none costs it memory.
 *
 * As with PageKeys a session is two secrets, a cookie and the page's own, and neither is enough alone. Always true: what
 * was not sealed with this key opens nothing; what it stands for ends with its time.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const [IV_BYTES, TAG_BYTES, KEY_BYTES] = [12, 16, 32];
/** Browsers take no more than 4096 for a cookie with its name and attributes. */
const LIMIT_COOKIE = 3900;

export class SealedSessions {
  readonly #sealKey: Buffer;
  readonly #pageKey: Buffer;
  readonly #lifetimeMs: number;
  readonly #now: () => number;

  constructor(secret: Uint8Array, lifetimeMs: number, now: () => number = Date.now) {
    const keyFor = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', `longwatch page ${use}`, KEY_BYTES));
    this.#sealKey = keyFor('cookie');
    this.#pageKey = keyFor('header');
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  /** Undefined: the credential is too long for a cookie. */
  open(credential: string): { readonly cookie: string; readonly page: string } | undefined {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#sealKey, iv);
    const sealed = [cipher.update(JSON.stringify([this.#now(), credential])), cipher.final()];
    const cookie = Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64url');
    return cookie.length > LIMIT_COOKIE ? undefined : { cookie, page: this.#pageOf(cookie).toString('base64url') };
  }

  /** What it stands for, by its cookie alone: enough for the page itself, which holds nothing. */
  ownerOf(cookie: string | undefined): string | undefined {
    const opened = cookie === undefined || cookie.length > LIMIT_COOKIE ? undefined : this.#unseal(cookie);
    return opened && this.#now() - opened[0] < this.#lifetimeMs ? opened[1] : undefined;
  }

  /** By both secrets: enough for what the page shows. */
  readerOf(cookie: string | undefined, page: string | undefined): string | undefined {
    if (cookie === undefined || page === undefined) return undefined;
    const [wanted, given] = [this.#pageOf(cookie), Buffer.from(page, 'base64url')];
    return wanted.length === given.length && timingSafeEqual(wanted, given) ? this.ownerOf(cookie) : undefined;
  }

  #unseal(cookie: string): [openedAt: number, credential: string] | undefined {
    const bytes = Buffer.from(cookie, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#sealKey, bytes.subarray(0, IV_BYTES));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(opened.toString('utf8')) as [number, string];
    } catch {
      return undefined; // not ours
    }
  }

  #pageOf(cookie: string): Buffer {
    return createHmac('sha256', this.#pageKey).update(cookie).digest();
  }
}
