/**
 * From the flags of kube-apiserver, as envtest passes them, to those of `longwatch serve`.
 *
 * Most have the same name and meaning and go through. Some say what is so anyway, or what the files beside them say; the
 * rest is not known here: it is left out, and told, since a suite that sets `--feature-gates` shall still run.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { splitFlags } from './go-flags.ts';

export type ApiServerFlags = {
  /** For `longwatch serve`, in the form `--name=value`. */
  readonly args: readonly string[];
  readonly etcdServers: readonly string[];
  /** As they were given. */
  readonly ignored: readonly string[];
};

/** These change nothing: an address is advertised by itself, tokens are verified with the key that signs them. */
const NEEDS_NOTHING = ['advertise-address', 'service-account-key-file', 'insecure-port'];
/** Flags of `serve` that kube-apiserver does not have, and that are decided here. */
export const NOT_ITS: readonly string[] = [
  'data-dir',
  'kubeconfig-out',
  'controllers',
  'pretend-nodes',
  'leader-elect',
  'config',
  'ready-file',
];

/** `serve` is the command whose flags there are. */
export function readApiServerFlags(given: readonly string[], serve: Command): ApiServerFlags {
  const known = new Map(serve.options.map(({ long, flags }) => [String(long).slice(2), flags]));
  for (const name of NOT_ITS) known.delete(name);
  const args: string[] = [];
  const ignored: string[] = [];
  let etcdServers: readonly string[] = [];
  let certDir: string | undefined;
  const isSwitch = (name: string) => known.get(name)?.includes('<true|false>') ?? false;
  for (const { name, value } of splitFlags(given, isSwitch)) {
    if (name === 'etcd-servers') etcdServers = value.split(',');
    else if (name === 'cert-dir') certDir = value;
    else if (name === 'authorization-mode') args.push(`--${name}=${authorizationMode(value)}`);
    else if (known.has(name) && !(name === 'audit-log-path' && value === '-')) args.push(`--${name}=${value}`);
    else if (!NEEDS_NOTHING.includes(name)) ignored.push(value === '' ? `--${name}` : `--${name}=${value}`);
  }
  const isNamed = args.some((arg) => arg.startsWith('--tls-cert-file='));
  return { args: [...args, ...(isNamed || !certDir ? [] : servingPair(certDir))], etcdServers, ignored };
}

/** What kube-apiserver serves with, too, if it is there. */
function servingPair(certDir: string): string[] {
  const [cert, key] = [join(certDir, 'apiserver.crt'), join(certDir, 'apiserver.key')];
  return existsSync(cert) && existsSync(key) ? [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`] : [];
}

/** Of several the first that allows decides; rights of nodes and webhooks of authorisation are not there to be asked. */
function authorizationMode(value: string): string {
  return value.split(',').includes('AlwaysAllow') ? 'AlwaysAllow' : 'RBAC';
}
