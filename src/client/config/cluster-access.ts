/**
 * All that is needed to speak to one cluster as one user; a transport is made from it. Made from a kubeconfig, from the
 * pod we run in, or by hand.
 */
import type { Duplex } from 'node:stream';
import { ConfigError } from '../errors.ts';
import { type Credentials, credentialsOf, noCredentials } from './credentials.ts';
import type { ExecCluster } from './exec-plugin.ts';
import type { ClusterEntry, From, Impersonation, UserEntry } from './kubeconfig-file.ts';
import { proxyFor } from './proxy.ts';
import { RotatingFile } from './rotating-file.ts';

export type ClusterAccess = {
  /** Its path, if it has one, goes before every path of the API. */
  readonly server: URL;
  /** Used where a call names none. */
  readonly namespace: string;
  /** PEM that the server's certificate must lead to; the roots of Node without it. */
  readonly authority?: string | RotatingFile;
  readonly skipsTlsVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxy?: URL;
  /** For a server in this process: a new connection to it. Neither TLS nor a proxy is then asked for. */
  readonly dial?: () => Duplex;
  readonly credentials?: Credentials;
  readonly impersonate?: Impersonation;
};

export type AccessParts = {
  readonly cluster: From<ClusterEntry>;
  readonly user?: From<UserEntry>;
  readonly namespace: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export function clusterAccess({ cluster, user, namespace, env }: AccessParts): ClusterAccess {
  const { entry, origin, path } = cluster;
  const refuse = (field: string, complaint: string) => {
    throw new ConfigError(`Cannot use kubeconfig "${origin}": ${path}.${field} ${complaint}`);
  };
  if (entry.server === '') refuse('server', 'must be set');
  // kubectl takes an address without a scheme, and means http.
  const address = entry.server.includes('://') ? entry.server : `http://${entry.server}`;
  if (!URL.canParse(address)) refuse('server', `is no URL: "${entry.server}"`);
  const server = new URL(address);
  if (server.protocol !== 'https:' && server.protocol !== 'http:')
    refuse('server', `must be http or https: "${address}"`);
  const hasAuthority = entry.caData !== undefined || entry.caFile !== undefined;
  if (hasAuthority && entry.skipsTlsVerify)
    refuse('insecure-skip-tls-verify', 'must not be set beside a certificate authority');
  const authority =
    entry.caData ??
    (entry.caFile !== undefined
      ? new RotatingFile(entry.caFile, `${path}.certificate-authority of "${origin}"`)
      : undefined);
  const proxy = proxyFor(server, entry.proxyUrl, env);
  const credentials = user
    ? credentialsOf(user, { env, cluster: () => clusterForPlugin(entry, authority) })
    : noCredentials;
  const impersonate = user?.entry.impersonate;
  return {
    server,
    namespace,
    ...(authority !== undefined && { authority }),
    skipsTlsVerify: entry.skipsTlsVerify,
    ...(entry.tlsServerName !== undefined && { tlsServerName: entry.tlsServerName }),
    ...(proxy && { proxy }),
    credentials,
    ...(impersonate && { impersonate }),
  };
}

async function clusterForPlugin(
  { server, tlsServerName, skipsTlsVerify, proxyUrl }: ClusterEntry,
  authority: string | RotatingFile | undefined,
): Promise<ExecCluster> {
  const pem = typeof authority === 'string' ? authority : await authority?.text();
  return {
    server,
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    ...(skipsTlsVerify && { 'insecure-skip-tls-verify': true }),
    ...(pem !== undefined && { 'certificate-authority-data': Buffer.from(pem).toString('base64') }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
  };
}
