/**
 * The client of controllers that run beside a server, in its process: over the loopback, as a user of their own, whose
 * token only that process knows.
 *
 * The certificate is not looked at where the operator has given one: it need not name the address that we dial. Who
 * answers there is this very process, and the token is worth nothing to anybody else.
 */
import { KubeClient, KubeConfig, tokenCredentials } from '../client/index.ts';

export type LoopbackOptions = {
  /** Where the server has written how to reach it. */
  readonly kubeconfigPath: string;
  readonly token: string;
  readonly hasGivenCertificate?: boolean | undefined;
};

export type Loopback = {
  /** Is the caller's to close. */
  readonly client: KubeClient;
  /** What the server's certificate leads to. */
  readonly authorityPem: string;
};

export async function connectLoopback(options: LoopbackOptions): Promise<Loopback> {
  const { kubeconfigPath, token, hasGivenCertificate = false } = options;
  const config = await KubeConfig.load({ paths: [kubeconfigPath] });
  const { server, namespace, authority } = config.access({ env: {} }); // no proxy leads to ourselves
  const authorityPem = typeof authority === 'string' ? authority : '';
  const trust = hasGivenCertificate ? { skipsTlsVerify: true } : { authority: authorityPem };
  const access = { server, namespace, ...trust, credentials: tokenCredentials(token) };
  return { client: new KubeClient(access, { userAgent: 'longwatch-controllers' }), authorityPem };
}
