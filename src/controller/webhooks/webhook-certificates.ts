/**
 * What a webhook server shows to API servers, and the authority they are told to trust: made here, renewed here.
 *
 * Always true: the certificate is signed by the first authority of the bundle and has all hosts; a bundle keeps the
 * authority before until that has ended, so that nobody who still has the old one is cut off. Where they are kept decides
 * who shares them: in this process (one replica, tests), or in a Secret (all replicas of an operator), which the first of
 * them makes and whoever comes first renews. Files of others, such as cert-manager's, are read again as they change.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeAuthority, makeServingCertificate } from '../../certificates/certificate.ts';
import { corev1, isApiError, type KubeClient } from '../../client/index.ts';

export type CertificateSet = {
  /** One or more, the newest first. */
  readonly authorityPem: string;
  readonly certPem: string;
  readonly keyPem: string;
};

/** With the key of the newest authority. */
export type OwnCertificates = CertificateSet & { readonly authorityKeyPem: string };

export type CertificateOptions =
  /** Of this process alone. */
  | { readonly kind: 'memory' }
  /** Shared by all replicas; the account needs get, create and update of it. */
  | { readonly kind: 'secret'; readonly name: string; readonly namespace?: string | undefined }
  /** `tls.crt`, `tls.key` and `ca.crt`, renewed by somebody else. */
  | { readonly kind: 'files'; readonly dir: string };

/** What is right now; asked again from time to time. */
export type CertificateSource = (now: Date) => Promise<CertificateSet>;

const DAY_MS = 24 * 60 * 60 * 1000;
const AUTHORITY_MS = 3650 * DAY_MS;
const LEAF_MS = 90 * DAY_MS;
/** Clocks of others may be behind ours. */
const BACKDATE_MS = 60 * 60 * 1000;
const AUTHORITY = { commonName: 'webhook-ca' };

/** The same set if it is good for some time to come, or a new one. Pure but for the keys it makes. */
export function renewed(before: OwnCertificates | undefined, hosts: readonly string[], now: Date): OwnCertificates {
  const { authorityPem, authorityKeyPem } = authorityOf(before, now);
  if (before && authorityPem === before.authorityPem && isGoodLeaf(before, hosts, now)) return before;
  const key = createPrivateKey(authorityKeyPem);
  const authority = { subject: AUTHORITY, key, publicKey: createPublicKey(key) };
  const leaf = makeServingCertificate(authority, { commonName: hosts[0] ?? 'webhook' }, hosts, lasting(now, LEAF_MS));
  return { authorityPem, authorityKeyPem, ...leaf };
}

function authorityOf(before: OwnCertificates | undefined, now: Date) {
  const known = before ? certificatesIn(before.authorityPem) : [];
  const current = known[0];
  if (before && current && endOf(current) - now.getTime() > LEAF_MS && fits(current, before.authorityKeyPem)) {
    const kept = known.filter((one, index) => index === 0 || endOf(one) > now.getTime());
    const authorityPem = kept.length === known.length ? before.authorityPem : kept.map(String).join('');
    return { authorityPem, authorityKeyPem: before.authorityKeyPem };
  }
  const made = makeAuthority(AUTHORITY, lasting(now, AUTHORITY_MS));
  const old = known.filter((one) => endOf(one) > now.getTime());
  return { authorityPem: made.certPem + old.map(String).join(''), authorityKeyPem: made.keyPem };
}

function isGoodLeaf({ certPem, keyPem, authorityPem }: OwnCertificates, hosts: readonly string[], now: Date): boolean {
  const [leaf] = certificatesIn(certPem);
  const [authority] = certificatesIn(authorityPem);
  if (!leaf || !authority || !fits(leaf, keyPem) || !leaf.verify(authority.publicKey)) return false;
  const hasHosts = hosts.every((host) => (isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host)) !== undefined);
  return hasHosts && endOf(leaf) - now.getTime() > LEAF_MS / 3;
}

function fits(certificate: X509Certificate, keyPem: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.split('-----END CERTIFICATE-----').slice(0, -1);
  try {
    return blocks.map((block) => new X509Certificate(`${block.trim()}\n-----END CERTIFICATE-----\n`));
  } catch {
    return []; // as if there were none
  }
}

function endOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

function lasting(now: Date, ms: number): { from: Date; to: Date } {
  return { from: new Date(now.getTime() - BACKDATE_MS), to: new Date(now.getTime() + ms) };
}

export function certificateSource(
  options: CertificateOptions,
  hosts: readonly string[],
  client: KubeClient | undefined,
): CertificateSource {
  switch (options.kind) {
    case 'memory': {
      let kept: OwnCertificates | undefined;
      return async (now) => {
        kept = renewed(kept, hosts, now);
        return kept;
      };
    }
    case 'secret': {
      if (!client) throw new TypeError('Cannot keep the certificates of webhooks in a Secret: there is no client');
      return (now) => fromSecret(client, options.name, options.namespace, hosts, now);
    }
    case 'files':
      return () => fromFiles(options.dir);
  }
}

const TRIES = 5;

/** Whoever is second takes what the first has made. */
async function fromSecret(
  client: KubeClient,
  name: string,
  namespace: string | undefined,
  hosts: readonly string[],
  now: Date,
): Promise<CertificateSet> {
  const secrets = client.resource(corev1.secrets, namespace);
  for (let tries = 1; ; tries++) {
    const found = await secrets.find(name);
    const before = found && setIn(found.data ?? {});
    const next = renewed(before, hosts, now);
    if (next === before) return next;
    const data = dataOf(next);
    try {
      if (found) await secrets.update({ ...found, data: { ...found.data, ...data } });
      else await secrets.create({ metadata: { name }, type: 'kubernetes.io/tls', data });
      return next;
    } catch (err) {
      const isSecond = isApiError(err, 'AlreadyExists') || isApiError(err, 'Conflict');
      if (!isSecond || tries === TRIES) throw err;
    }
  }
}

const FIELDS = { authorityPem: 'ca.crt', authorityKeyPem: 'ca.key', certPem: 'tls.crt', keyPem: 'tls.key' } as const;

function setIn(data: Readonly<Record<string, string>>): OwnCertificates | undefined {
  const entries = Object.entries(FIELDS).map(([field, key]) => [field, data[key]] as const);
  if (entries.some(([, value]) => value === undefined)) return undefined;
  const decoded = entries.map(([field, value]) => [field, Buffer.from(value!, 'base64').toString()]);
  return Object.fromEntries(decoded) as OwnCertificates;
}

function dataOf(set: OwnCertificates): Record<string, string> {
  const entries = Object.entries(FIELDS) as [keyof typeof FIELDS, string][];
  return Object.fromEntries(entries.map(([field, key]) => [key, Buffer.from(set[field]).toString('base64')]));
}

async function fromFiles(dir: string): Promise<CertificateSet> {
  const [authorityPem, certPem, keyPem] = await Promise.all(
    ['ca.crt', 'tls.crt', 'tls.key'].map((name) => readFile(join(dir, name), 'utf8')),
  );
  return { authorityPem: authorityPem!, certPem: certPem!, keyPem: keyPem! };
}
