/**
 * The key that signs service-account tokens: `<data-dir>/pki/service-account.key`, made on the first start, or a file
 * of the owner's (servers that share a store must share it, or each refuses the tokens of the others).
 *
 * Always true: the file is readable by its owner only and appears whole. A file that is there and cannot be read is an
 * error, never a reason to make a new key: every token out there would stop working.
 */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Durability, writeWhole } from '../serving/write-whole.ts';
import { type TokenKey, tokenKey } from './jwt.ts';

/** A curve, not RSA: such a key is made in a millisecond. */
export function ensureSigningKey(dataDir: string, file?: string, durability?: Durability): TokenKey {
  const path = file ?? join(dataDir, 'pki', 'service-account.key');
  if (file === undefined && !existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    writeWhole(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, durability);
  }
  try {
    return tokenKey(createPrivateKey(readFileSync(path)));
  } catch (err) {
    throw new Error(`Cannot read the key of service accounts in "${path}": ${(err as Error).message}`, { cause: err });
  }
}
