/**
 * The server's own keys and certificates in `<data-dir>/pki`: made on the first start, used again on the next, renewed
 * when they come near their end or no longer fit.
 *
 * Always true: keys are readable by their owner only; a file appears whole or not at all; what is returned fits
 * together (each key its certificate, each certificate the authority). An authority that does not fit its key is never
 * replaced behind the owner's back: whoever trusts it would be cut off. That is an error instead.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  type Authority,
  type Certificate,
  makeAuthority,
  makeClientCertificate,
  makeServingCertificate,
  type Validity,
} from '../../certificates/certificate.ts';
import { isDnsName } from './dns-name.ts';
import { type Durability, writeWhole } from './write-whole.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 365;
/** What has less left than this is made anew. */
const RENEW_DAYS = 30;
/** Clocks of clients may be behind ours. */
const BACKDATE_MS = 60 * 60 * 1000;

const AUTHORITY_NAME = 'longwatch-ca';
const SERVING = { commonName: 'longwatch' };
const ADMIN = { commonName: 'kubernetes-admin', organizations: ['system:masters'] };
export const FRONT_PROXY = { commonName: 'front-proxy-client' };

export type Pki = {
  /** Signs all others; clients of the server trust it, and so does the server for client certificates. */
  readonly authorityPem: string;
  readonly serving: Certificate;
  readonly admin: Certificate;
  /** What this server shows to servers that it passes requests on to. */
  readonly frontProxy: Certificate;
};

export type PkiOptions = {
  readonly dataDir: string;
  /** Names and addresses the server is reached by, beside those every server has. */
  readonly hosts?: readonly string[];
  /** A server runs with this authority: if it is gone or comes to its end, that waits for the next start. */
  readonly isRunning?: boolean;
  readonly durability?: Durability;
  readonly now?: Date;
  /** Told of what is made anew in the place of something. */
  readonly log?: (line: string) => void;
};

export function ensurePki({
  dataDir,
  hosts = [],
  isRunning = false,
  durability,
  now = new Date(),
  log = () => {},
}: PkiOptions): Pki {
  const folder = join(dataDir, 'pki');
  const wanted = [...new Set([...USUAL_HOSTS, hostname(), ...hosts])].filter(isHost);
  const store = (name: string, { certPem, keyPem }: Certificate) => {
    writeWhole(join(folder, `${name}.key`), keyPem, durability);
    writeWhole(join(folder, `${name}.crt`), certPem, durability);
  };
  const kept = readAuthority(folder, now, isRunning, log);
  const authorityPair = kept ?? parsePair(makeAuthority({ commonName: AUTHORITY_NAME }, lasting(now, AUTHORITY_DAYS)));
  if (!kept) store('ca', authorityPair.files);
  const authority = asAuthority(authorityPair);
  const issuer = { publicKey: authorityPair.cert.publicKey, end: Date.parse(authorityPair.cert.validTo) };

  const leaf = (name: string, fits: (cert: X509Certificate) => boolean, make: (validity: Validity) => Certificate) => {
    const found = read(folder, name);
    if (found && isUsable(found, issuer, now, fits)) return found;
    const { from, to } = lasting(now, LEAF_DAYS);
    const made = make({ from, to: new Date(Math.min(to.getTime(), issuer.end)) });
    if (found) log(`made a new certificate "${join(folder, `${name}.crt`)}": the one there did not fit any more`);
    store(name, made);
    return made;
  };
  return {
    authorityPem: authorityPair.files.certPem,
    serving: leaf(
      'server',
      (cert) => wanted.every((host) => isNamedIn(cert, host)),
      (validity) => makeServingCertificate(authority, SERVING, wanted, validity),
    ),
    admin: leaf(
      'admin',
      (cert) => cert.subject === `O=${ADMIN.organizations[0]}\nCN=${ADMIN.commonName}`,
      (validity) => makeClientCertificate(authority, ADMIN, validity),
    ),
    frontProxy: leaf(
      'front-proxy-client',
      (cert) => cert.subject === `CN=${FRONT_PROXY.commonName}`,
      (validity) => makeClientCertificate(authority, FRONT_PROXY, validity),
    ),
  };
}

const USUAL_HOSTS = [
  'localhost',
  '127.0.0.1',
  '::1',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

/** Wildcard addresses are nothing to dial, and what is no name cannot stand in a certificate. */
function isHost(host: string): boolean {
  if (isIP(host)) return host !== '0.0.0.0' && host !== '::' && !host.includes('%');
  return isDnsName(host);
}

function isNamedIn(cert: X509Certificate, host: string): boolean {
  if (isIP(host)) return cert.checkIP(host) !== undefined;
  return cert.subjectAltName?.split(', ').includes(`DNS:${host}`) ?? false;
}

/** As files, and as what they say: reading them is most of the work, so it is done once. */
type Pair = { readonly files: Certificate; readonly cert: X509Certificate; readonly key: KeyObject };

function parsePair(files: Certificate): Pair {
  return { files, cert: new X509Certificate(files.certPem), key: createPrivateKey(files.keyPem) };
}

/** Undefined where there is none yet, or where the one there is comes near its end. */
function readAuthority(folder: string, now: Date, isRunning: boolean, log: (line: string) => void): Pair | undefined {
  const found = findAuthority(folder);
  if (typeof found === 'string') {
    const advice = `put back the pair that belongs together, or remove both to have a new authority made, which no client trusts until it gets the new kubeconfig`;
    throw new Error(`Cannot use the certificate authority in "${folder}": ${found}; ${advice}`);
  }
  if (!found && isRunning) throw new Error(`Cannot find the certificate authority in "${folder}": it is gone`);
  if (!found || isRunning) return found;
  if (daysLeft(found.cert, now) > LEAF_DAYS) return found;
  log(
    `made a new certificate authority in "${folder}", as the old one comes to its end: clients need the new kubeconfig`,
  );
  return undefined;
}

/** A sentence where what is there cannot be used. */
function findAuthority(folder: string): Pair | string | undefined {
  const [hasCert, hasKey] = ['ca.crt', 'ca.key'].map((name) => existsSync(join(folder, name)));
  if (hasCert !== hasKey)
    return hasCert ? 'ca.crt is there, but ca.key is missing' : 'ca.key is there, but ca.crt is missing';
  const found = read(folder, 'ca');
  if (!found) return undefined;
  try {
    const pair = parsePair(found);
    if (!pair.cert.ca) return 'ca.crt is not the certificate of an authority';
    return pair.cert.checkPrivateKey(pair.key) ? pair : 'ca.key does not belong to ca.crt';
  } catch (err) {
    return (err as Error).message;
  }
}

function asAuthority({ cert, key }: Pair): Authority {
  const commonName = /^CN=(.*)$/m.exec(cert.subject)?.[1] ?? AUTHORITY_NAME;
  return { subject: { commonName }, key, publicKey: cert.publicKey };
}

function isUsable(
  { certPem, keyPem }: Certificate,
  issuer: { readonly publicKey: KeyObject; readonly end: number },
  now: Date,
  fits: (cert: X509Certificate) => boolean,
): boolean {
  try {
    const cert = new X509Certificate(certPem);
    return (
      cert.checkPrivateKey(createPrivateKey(keyPem)) &&
      cert.verify(issuer.publicKey) &&
      // One that ends with its authority cannot be made to last longer.
      (daysLeft(cert, now) > RENEW_DAYS || Date.parse(cert.validTo) >= issuer.end) &&
      fits(cert)
    );
  } catch {
    return false; // half a file, or none of ours: a leaf is made anew without harm
  }
}

function daysLeft(cert: X509Certificate, now: Date): number {
  return (Date.parse(cert.validTo) - now.getTime()) / DAY_MS;
}

function lasting(now: Date, days: number): Validity {
  return { from: new Date(now.getTime() - BACKDATE_MS), to: new Date(now.getTime() + days * DAY_MS) };
}

function read(folder: string, name: string): Certificate | undefined {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  if (!existsSync(certFile) || !existsSync(keyFile)) return undefined;
  return { certPem: readFileSync(certFile, 'utf8'), keyPem: readFileSync(keyFile, 'utf8') };
}
