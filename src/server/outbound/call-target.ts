/**
 * Whom a configuration tells the server to call: a URL, or a Service by its name. Of a Service the URL is that of its
 * name in the cluster, which is also the name its certificate must have; where it is dialled is found out when a
 * connection is made (`service-resolver.ts`).
 */
import { X509Certificate } from 'node:crypto';

export type ServiceReference = {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  readonly port?: number;
};

/** As webhooks and definitions carry it. */
export type ClientConfig = {
  readonly url?: string;
  readonly service?: ServiceReference;
  /** PEM in base64; absent: what the system trusts. */
  readonly caBundle?: string;
};

export type CallTarget = {
  /** `https://host:port`. */
  readonly origin: string;
  /** With everything but the query. */
  readonly url: string;
  readonly path: string;
  /** Who must be dialled instead of the host of the URL. */
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number };
  /** The name the certificate must have, where it is not the host of the URL. */
  readonly serverName?: string;
  /** PEM. */
  readonly authority?: string;
  readonly skipsTlsVerify?: boolean;
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
};

const DEFAULT_SERVICE_PORT = 443;

/** Throws where the authority cannot be read. */
export function callTarget({ url, service, caBundle }: ClientConfig): CallTarget {
  const authority = caBundle ? { authority: readAuthority(caBundle) } : {};
  if (service) {
    const { namespace, name, port = DEFAULT_SERVICE_PORT } = service;
    const serverName = `${name}.${namespace}.svc`;
    const origin = `https://${serverName}:${port}`;
    const path = service.path ? (service.path.startsWith('/') ? service.path : `/${service.path}`) : '/';
    return { origin, url: `${origin}${path}`, path, service: { namespace, name, port }, serverName, ...authority };
  }
  if (!url) throw new Error('webhook configuration must have either service or URL');
  const { protocol, host, pathname } = new URL(url);
  const isBare = pathname === '/' && !url.endsWith('/');
  return {
    origin: `${protocol}//${host}`,
    url: isBare ? `${protocol}//${host}` : `${protocol}//${host}${pathname}`,
    path: pathname,
    ...authority,
  };
}

/** The authority of a bundle, or why there is none in the words of kube-apiserver. */
export function readAuthority(caBundle: string): string {
  const pem = Buffer.from(caBundle, 'base64').toString('utf8');
  if (!isCertificates(pem)) throw new Error('unable to load root certificates: unable to parse bytes as PEM block');
  return pem;
}

function isCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) return false;
  try {
    for (const block of blocks) new X509Certificate(block);
    return true;
  } catch {
    return false;
  }
}
