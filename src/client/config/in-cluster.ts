/** The service account that a pod finds in its own file system: an address in the environment, three small files. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../api/index.ts';
import { ConfigError } from '../errors.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { tokenFileCredentials } from './credentials.ts';
import { RotatingFile } from './rotating-file.ts';

export type InClusterOptions = {
  /** Where KUBERNETES_SERVICE_HOST and _PORT are: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where `token`, `ca.crt` and `namespace` are. */
  readonly accountDir?: string | undefined;
  readonly clock?: Clock | undefined;
};

const ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

export function isInCluster({ env = process.env }: InClusterOptions = {}): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT);
}

export function inClusterAccess(options: InClusterOptions = {}): ClusterAccess {
  const { env = process.env, accountDir = ACCOUNT_DIR, clock } = options;
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port)
    throw new ConfigError('Cannot find the cluster around this process: KUBERNETES_SERVICE_HOST and _PORT are not set');
  const file = (name: string) =>
    new RotatingFile(join(accountDir, name), 'of the service account', clock ? { clock } : {});
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: readNamespace(join(accountDir, 'namespace')),
    authority: file('ca.crt'),
    skipsTlsVerify: false,
    credentials: tokenFileCredentials(file('token')),
  };
}

function readNamespace(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim() || 'default';
  } catch {
    return 'default'; // an account without one is still an account
  }
}
