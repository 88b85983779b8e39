/**
 * The server's own keys and certificates in `<data-dir>/pki`: made on the first start, used again on the next, renewed
 * when they come near their end or no longer fit.
 *
 * Always true: keys are readable by their owner only; a file appears whole or not at all; what is returned fits
 * together (each key its certificate, each certificate the authority). An authority that does not fit its key is never
 * replaced behind the owner's back: whoever trusts it would be cut off. That is an error instead.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
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
} from './certificate.ts';
import { writeWhole } from './write-whole.ts';

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

export type Pki = {
  /** Signs both others; clients of the server trust it, and so does the server for client certificates. */
  readonly authorityPem: string;
  readonly serving: Certificate;
  readonly admin: Certificate;
};

export type PkiOptions = {
  readonly dataDir: string;
  /** Names and addresses the server is reached by, beside those every server has. */
  readonly hosts?: readonly string[];
  readonly now?: Date;
};

export function ensurePki({ dataDir, hosts = [], now = new Date() }: PkiOptions): Pki {
  const folder = join(dataDir, 'pki');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const wanted = [...new Set([...USUAL_HOSTS, hostname(), ...hosts])].filter(isHost);
  const kept = readAuthority(folder, now);
  const authorityFiles = kept ?? makeAuthority({ commonName: AUTHORITY_NAME }, lasting(now, AUTHORITY_DAYS));
  if (!kept) store(folder, 'ca', authorityFiles);
  const authority = asAuthority(authorityFiles);

  const leaf = (name: string, fits: (cert: X509Certificate) => boolean, make: (validity: Validity) => Certificate) => {
    const found = read(folder, name);
    if (found && isUsable(found, authorityFiles, now, fits)) return found;
    const made = make(lasting(now, LEAF_DAYS));
    store(folder, name, made);
    return made;
  };
  return {
    authorityPem: authorityFiles.certPem,
    serving: leaf(
      'server',
      (cert) => wanted.every((host) => (isIP(host) ? cert.checkIP(host) : cert.checkHost(host)) !== undefined),
      (validity) => makeServingCertificate(authority, SERVING, wanted, validity),
    ),
    admin: leaf(
      'admin',
      (cert) => cert.subject === `O=${ADMIN.organizations[0]}\nCN=${ADMIN.commonName}`,
      (validity) => makeClientCertificate(authority, ADMIN, validity),
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
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/i.test(host);
}

/** Undefined where there is none yet, or where the one there is comes near its end. */
function readAuthority(folder: string, now: Date): Certificate | undefined {
  const found = read(folder, 'ca');
  if (!found) return undefined;
  const problem = authorityProblem(found);
  if (problem) {
    const advice = `remove ca.crt and ca.key to have new ones made, or put back the pair that belongs together`;
    throw new Error(`Cannot use the certificate authority in "${folder}": ${problem}; ${advice}`);
  }
  // A leaf must not outlive its authority.
  return daysLeft(new X509Certificate(found.certPem), now) > LEAF_DAYS ? found : undefined;
}

function authorityProblem({ certPem, keyPem }: Certificate): string | undefined {
  try {
    const cert = new X509Certificate(certPem);
    if (!cert.ca) return 'ca.crt is not the certificate of an authority';
    return cert.checkPrivateKey(createPrivateKey(keyPem)) ? undefined : 'ca.key does not belong to ca.crt';
  } catch (err) {
    return (err as Error).message;
  }
}

function asAuthority({ certPem, keyPem }: Certificate): Authority {
  const cert = new X509Certificate(certPem);
  const commonName = /^CN=(.*)$/m.exec(cert.subject)?.[1] ?? AUTHORITY_NAME;
  return { subject: { commonName }, key: createPrivateKey(keyPem), publicKey: cert.publicKey };
}

function isUsable(
  { certPem, keyPem }: Certificate,
  authority: Certificate,
  now: Date,
  fits: (cert: X509Certificate) => boolean,
): boolean {
  try {
    const cert = new X509Certificate(certPem);
    return (
      cert.checkPrivateKey(createPrivateKey(keyPem)) &&
      cert.verify(new X509Certificate(authority.certPem).publicKey) &&
      daysLeft(cert, now) > RENEW_DAYS &&
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

function store(folder: string, name: string, { certPem, keyPem }: Certificate): void {
  writeWhole(join(folder, `${name}.key`), keyPem, 0o600);
  writeWhole(join(folder, `${name}.crt`), certPem, 0o644);
}
