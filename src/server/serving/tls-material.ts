/**
 * Decides what the server serves with and whom it trusts: files the operator names, or what it made itself.
 *
 * Always true: the administrator's own certificate is accepted, whatever client authority is added by a file. A file
 * that cannot be used stops the start with a sentence that names it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { Certificate } from './certificate.ts';
import { ensurePki } from './pki.ts';

export type TlsFiles = {
  readonly dataDir: string;
  readonly bindAddress: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCaFile?: string;
};

export type TlsMaterial = {
  readonly serving: Certificate;
  /** Authorities whose client certificates are believed. */
  readonly clientAuthorities: readonly string[];
  /** For the kubeconfig: what a client must trust to reach us. */
  readonly servingAuthorityPem: string;
  readonly admin: Certificate;
};

export function loadTlsMaterial({ dataDir, bindAddress, certFile, keyFile, clientCaFile }: TlsFiles): TlsMaterial {
  const pki = ensurePki({ dataDir, hosts: [bindAddress] });
  const given = certFile && keyFile ? readPair(certFile, keyFile) : undefined;
  return {
    serving: given ?? pki.serving,
    clientAuthorities: [pki.authorityPem, ...(clientCaFile ? [readAuthorities(clientCaFile)] : [])],
    servingAuthorityPem: given ? given.certPem : pki.authorityPem,
    admin: pki.admin,
  };
}

/** Where a client on this machine reaches a server that listens on `bindAddress`. */
export function urlOf(bindAddress: string, port: number): string {
  const isAny = bindAddress === '0.0.0.0' || bindAddress === '::' || bindAddress === '';
  const host = isAny ? '127.0.0.1' : bindAddress;
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function readPair(certFile: string, keyFile: string): Certificate {
  const certPem = readFile(certFile, 'the serving certificate');
  const keyPem = readFile(keyFile, 'the private key');
  const cert = parse(certFile, 'the serving certificate', () => new X509Certificate(certPem));
  const key = parse(keyFile, 'the private key', () => createPrivateKey(keyPem));
  if (!cert.checkPrivateKey(key))
    throw new Error(`Cannot serve with "${certFile}": the key in "${keyFile}" does not belong to it`);
  return { certPem, keyPem };
}

function readAuthorities(file: string): string {
  const what = 'the authority of client certificates';
  const text = readFile(file, what);
  parse(file, what, () => new X509Certificate(text));
  return text;
}

function readFile(file: string, what: string): string {
  return parse(file, what, () => readFileSync(file, 'utf8'));
}

function parse<T>(file: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new Error(`Cannot read ${what} from "${file}": ${(err as Error).message}`, { cause: err });
  }
}
