/** What the options of a server say about TLS, in the forms that certificates, listeners and extension API servers want. */
import { readFileSync } from 'node:fs';
import type { AuthenticationInfo } from './aggregation/authentication-info.ts';
import type { TlsSettings } from './http/connection/listener.ts';
import type { ServerOptions } from './server-options.ts';
import { FRONT_PROXY } from './serving/pki.ts';
import type { TlsFiles, TlsMaterial } from './serving/tls-material.ts';

export function tlsFilesOf(
  options: ServerOptions,
  dataDir: string,
  bindAddress: string,
  log: (line: string) => void,
): TlsFiles {
  const { tlsCertFile, tlsPrivateKeyFile, clientCaFile, tlsSans, proxyClientCertFile, proxyClientKeyFile } = options;
  return {
    dataDir,
    bindAddress,
    log,
    ...(options.durability && { durability: options.durability }),
    ...(tlsSans && { sans: tlsSans }),
    ...(tlsCertFile && { certFile: tlsCertFile }),
    ...(tlsPrivateKeyFile && { keyFile: tlsPrivateKeyFile }),
    ...(clientCaFile && { clientCaFile }),
    ...(proxyClientCertFile && { proxyClientCertFile }),
    ...(proxyClientKeyFile && { proxyClientKeyFile }),
  };
}

export function authenticationInfoOf(material: TlsMaterial, options: ServerOptions): AuthenticationInfo {
  const { clientAuthorities, frontProxyAuthorityPem } = material;
  const { requestheaderClientCaFile: file, proxyClientCertFile } = options;
  return {
    clientAuthorities,
    proxyAuthority: file ? readFileSync(file, 'utf8') : frontProxyAuthorityPem,
    // Of a certificate that was given only its authority is known; ours also signs others.
    proxyNames: proxyClientCertFile ? [] : [FRONT_PROXY.commonName],
  };
}

export function settingsOf({ serving, clientAuthorities }: TlsMaterial): TlsSettings {
  return { cert: serving.certPem, key: serving.keyPem, clientAuthorities };
}
