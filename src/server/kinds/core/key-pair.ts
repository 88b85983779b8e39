/**
 * Whether a certificate and a private key, as PEM, belong together; for what cannot be used, why, in the words of
 * kube-apiserver. Nothing is refused for it: writers are only told.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';

type Block = { readonly type: string; readonly text: string };

const MAX_BYTES = 1024 * 1024;
const blockPattern = /-----BEGIN ([A-Z0-9 ]{1,60})-----\r?\n([A-Za-z0-9+/=\r\n]*)-----END ([A-Z0-9 ]{1,60})-----/g;

export function keyPairProblem(certificate: string, key: string): string | undefined {
  const found = blocksOf(certificate);
  const leaf = found.find(({ type }) => type === 'CERTIFICATE');
  if (!leaf) return noCertificate(found);
  const keys = blocksOf(key);
  const own = keys.find(({ type }) => isKey(type));
  if (!own) return noKey(keys);
  try {
    const parsed = new X509Certificate(leaf.text);
    return parsed.checkPrivateKey(createPrivateKey(own.text))
      ? undefined
      : 'tls: private key does not match public key';
  } catch {
    return 'tls: failed to parse private key';
  }
}

function blocksOf(text: string): Block[] {
  if (text.length > MAX_BYTES) return [];
  return [...text.matchAll(blockPattern)]
    .filter(([, begin, , end]) => begin === end)
    .map(([block, type]) => ({ type: type!, text: `${block}\n` }));
}

function isKey(type: string): boolean {
  return type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');
}

function noCertificate(found: readonly Block[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (found.length === 1 && isKey(found[0]!.type))
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${typesOf(found)}]`;
}

function noKey(found: readonly Block[]): string {
  if (found.length === 0) return 'tls: failed to find any PEM data in key input';
  if (found.length === 1 && found[0]!.type === 'CERTIFICATE')
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${typesOf(found)}]`;
}

function typesOf(found: readonly Block[]): string {
  return found.map(({ type }) => type).join(' ');
}
