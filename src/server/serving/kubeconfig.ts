/**
 * What an administrator needs to reach the server: a kubeconfig with everything embedded, and the token in it.
 *
 * Always true: both files are readable by their owner only. The token outlives restarts; whoever wants a new one
 * removes the file.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from '../../certificates/certificate.ts';
import { type Durability, writeWhole } from './write-whole.ts';

export type KubeconfigParts = {
  readonly server: string;
  /** Whom the client shall trust for the server's certificate. */
  readonly authorityPem: string;
  readonly admin: Certificate;
  readonly token: string;
};

/** The administrator's bearer token, made on the first start. */
export function ensureAdminToken(dataDir: string, durability?: Durability): string {
  const file = join(dataDir, 'admin.token');
  if (existsSync(file)) {
    const kept = readFileSync(file, 'utf8').trim();
    if (kept.length >= 32) return kept;
  }
  const token = randomBytes(32).toString('base64url');
  writeWhole(file, `${token}\n`, durability);
  return token;
}

export function writeKubeconfig(file: string, parts: KubeconfigParts, durability?: Durability): void {
  writeWhole(file, kubeconfigText(parts), durability);
}

export function kubeconfigText({ server, authorityPem, admin, token }: KubeconfigParts): string {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  return `apiVersion: v1
kind: Config
current-context: longwatch
preferences: {}
clusters:
- name: longwatch
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(authorityPem)}
contexts:
- name: longwatch
  context:
    cluster: longwatch
    user: kubernetes-admin
users:
- name: kubernetes-admin
  user:
    client-certificate-data: ${base64(admin.certPem)}
    client-key-data: ${base64(admin.keyPem)}
    token: ${token}
`;
}
