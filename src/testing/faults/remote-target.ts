/**
 * Any cluster as the target of a FaultProxy: the proxy reaches it as the user of a kubeconfig, and serves with a
 * certificate of its own, whose authority stands in the kubeconfig that it writes. A client certificate is shown by
 * the proxy, since it cannot pass; a token is in that kubeconfig.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import { makeAuthority, makeServingCertificate } from '../../certificates/certificate.ts';
import type { ClusterAccess } from '../../client/index.ts';
import type { ProxyTarget } from './fault-proxy.ts';

const DAY_MS = 86_400_000;

export type RemoteTargetOptions = {
  readonly access: ClusterAccess;
  /** In the place of the one of the kubeconfig. */
  readonly url?: string;
  readonly port?: number;
  readonly kubeconfigPath: (port: number) => string;
};

export async function remoteTarget({ access, url, port, kubeconfigPath }: RemoteTargetOptions): Promise<ProxyTarget> {
  const identity = (await access.credentials?.current()) ?? {};
  const { authority } = access;
  const ca = typeof authority === 'string' ? authority : await authority?.text();
  const validity = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + 365 * DAY_MS) };
  const subject = { commonName: 'longwatch-proxy' };
  const own = makeAuthority(subject, validity);
  const { publicKey } = new X509Certificate(own.certPem);
  const signing = { subject, key: createPrivateKey(own.keyPem), publicKey };
  const serving = makeServingCertificate(signing, subject, ['127.0.0.1', 'localhost'], validity);
  const token = /^Bearer (.+)$/.exec(identity.authorization ?? '')?.[1];
  return {
    url: url ?? access.server.href.replace(/\/$/, ''),
    serving: { cert: serving.certPem, key: serving.keyPem },
    agent: new Agent({
      keepAlive: true,
      ...(ca !== undefined && { ca }),
      ...(access.skipsTlsVerify && { rejectUnauthorized: false }),
      ...(identity.cert !== undefined && { cert: identity.cert, key: identity.key }),
    }),
    kubeconfig: (proxy) => kubeconfig(proxy, own.certPem, access.namespace, token),
    kubeconfigPath,
    ...(port !== undefined && { port }),
  };
}

function kubeconfig(server: string, authorityPem: string, namespace: string, token: string | undefined): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'proxy',
    clusters: [
      {
        name: 'proxy',
        cluster: { server, 'certificate-authority-data': Buffer.from(authorityPem).toString('base64') },
      },
    ],
    contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'proxy', namespace } }],
    users: [{ name: 'proxy', user: token === undefined ? {} : { token } }],
  });
}
