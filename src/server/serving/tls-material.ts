/**
 * Decides what the server serves with and whom it trusts: files the operator names, or what it made itself.
 *
 * Always true: the administrator's own certificate is accepted, whatever client authority is added by a file. A file
 * that cannot be used stops the start with a sentence that names it.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createSecureContext } from 'node:tls';
import type { Certificate } from '../../certificates/certificate.ts';
import { ensurePki } from './pki.ts';
import type { Durability } from './write-whole.ts';

export type TlsFiles = {
  readonly dataDir: string;
  readonly bindAddress: string;
  /** Names and addresses for our own certificate, beside those the server knows of. */
  readonly sans?: readonly string[];
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCaFile?: string;
  /** Both or neither. */
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  /** Whether a server is running with what it has read before: then an authority that is gone is not made anew. */
  readonly isRunning?: boolean;
  readonly durability?: Durability;
  readonly now?: Date;
  readonly log?: (line: string) => void;
};

export type TlsMaterial = {
  readonly serving: Certificate;
  /** Authorities whose client certificates are believed. */
  readonly clientAuthorities: readonly string[];
  /** For the kubeconfig: what a client must trust to reach us. */
  readonly servingAuthorityPem: string;
  readonly admin: Certificate;
  /** Shown to servers that requests are passed on to. */
  readonly frontProxy: Certificate;
  /** Whom those must trust for it. */
  readonly frontProxyAuthorityPem: string;
};

export function loadTlsMaterial(files: TlsFiles): TlsMaterial {
  const { dataDir, bindAddress, sans = [], certFile, keyFile, clientCaFile, isRunning = false } = files;
  const { durability, now, log } = files;
  const { proxyClientCertFile: proxyCert, proxyClientKeyFile: proxyKey } = files;
  const hosts = [...reachedBy(bindAddress), ...sans];
  const pki = ensurePki({
    dataDir,
    hosts,
    isRunning,
    ...(durability && { durability }),
    ...(now && { now }),
    ...(log && { log }),
  });
  const given = certFile && keyFile ? readPair(certFile, keyFile) : undefined;
  const givenProxy = proxyCert && proxyKey ? readPair(proxyCert, proxyKey) : undefined;
  return {
    serving: given ?? pki.serving,
    clientAuthorities: [pki.authorityPem, ...(clientCaFile ? [readAuthorities(clientCaFile)] : [])],
    servingAuthorityPem: given ? given.certPem : pki.authorityPem,
    admin: pki.admin,
    frontProxy: givenProxy ?? pki.frontProxy,
    frontProxyAuthorityPem: pki.authorityPem,
  };
}

/** Every address of this machine that a client elsewhere could dial, if the server listens on all of them. */
function reachedBy(bindAddress: string): string[] {
  if (!isAny(bindAddress)) return [bindAddress];
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^fe80:/i.test(address)); // those need a zone, which a certificate cannot name
}

function isAny(bindAddress: string): boolean {
  return bindAddress === '0.0.0.0' || bindAddress === '::' || bindAddress === '';
}

/** Where a client on this machine reaches a server that listens on `bindAddress`. */
export function urlOf(bindAddress: string, port: number): string {
  const host = isAny(bindAddress) ? '127.0.0.1' : bindAddress;
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function readPair(certFile: string, keyFile: string): Certificate {
  const certPem = readFile(certFile, 'the serving certificate');
  const keyPem = readFile(keyFile, 'the private key');
  const cert = parse(certFile, 'the serving certificate', () => readCertificate(certPem));
  const key = parse(keyFile, 'the private key', () => readKey(keyPem));
  if (!cert.checkPrivateKey(key))
    throw new Error(`Cannot serve with "${certFile}": the key in "${keyFile}" does not belong to it`);
  // A key that is too short, a chain that is broken: what TLS itself would refuse later.
  parse(certFile, 'the serving certificate', () => createSecureContext({ cert: certPem, key: keyPem }));
  return { certPem, keyPem };
}

function readAuthorities(file: string): string {
  const what = 'the authority of client certificates';
  const text = readFile(file, what);
  parse(file, what, () => readCertificate(text) && createSecureContext({ ca: text }));
  return text;
}

function readCertificate(pem: string): X509Certificate {
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it holds no certificate in PEM form');
  return new X509Certificate(pem);
}

function readKey(pem: string): KeyObject {
  if (!/-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/.test(pem)) throw new Error('it holds no private key in PEM form');
  if (/ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(pem))
    throw new Error('it is encrypted, and there is nobody to ask for its passphrase; decrypt it with openssl pkey');
  return createPrivateKey(pem);
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
