/**
 * What goes wrong between two servers, in the words in which kube-apiserver tells it: people search for those.
 * What is not known here is told as it is.
 */
const UNKNOWN_AUTHORITY = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';

const verification: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNKNOWN_AUTHORITY],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_GET_ISSUER_CERT', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNKNOWN_AUTHORITY],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNKNOWN_AUTHORITY],
  ['CERT_SIGNATURE_FAILURE', UNKNOWN_AUTHORITY],
  ['CERT_UNTRUSTED', UNKNOWN_AUTHORITY],
  ['INVALID_CA', UNKNOWN_AUTHORITY],
  ['CERT_HAS_EXPIRED', 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid'],
  ['CERT_NOT_YET_VALID', 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid'],
]);

const dialling: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connect: connection refused'],
  ['EHOSTUNREACH', 'connect: no route to host'],
  ['ENETUNREACH', 'connect: network is unreachable'],
  ['EADDRNOTAVAIL', 'connect: cannot assign requested address'],
  ['ETIMEDOUT', 'i/o timeout'],
]);

type NetworkError = NodeJS.ErrnoException & {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
  readonly errors?: readonly NetworkError[];
};

export function networkErrorText(err: unknown): string {
  const found = (err as NetworkError).errors?.[0] ?? (err as NetworkError);
  const { code = '', message, address, port } = found;
  const unverified = verification.get(code);
  if (unverified) return unverified;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return nameText(found);
  const unreached = dialling.get(code);
  if (unreached && address !== undefined) return `dial tcp ${hostPort(address, port)}: ${unreached}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${found.hostname ?? ''}: no such host`;
  if (code === 'DIAL_TIMEOUT') return 'dial tcp: i/o timeout';
  if (code === 'ECONNRESET' && found.syscall === 'read') return 'read tcp: read: connection reset by peer';
  if (code === 'EPIPE') return 'write tcp: write: broken pipe';
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return 'EOF';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return /wrong version number|packet length too long|http request/i.test(message)
      ? 'http: server gave HTTP response to HTTPS client'
      : `remote error: tls: ${message}`;
  if (code === 'BAD_ANSWER') return `net/http: HTTP/1.x transport connection broken: ${message}`;
  if (code.startsWith('HPE_')) return `net/http: HTTP/1.x transport connection broken: malformed HTTP response`;
  return message || code;
}

function hostPort(address: string, port: number | undefined): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port ?? ''}`;
}

/** Whom the certificate is for instead. */
function nameText({ cert, host = '' }: NetworkError): string {
  const names = (cert?.subjectaltname ?? '').split(', ').filter((one) => one !== '');
  const isAddress = /^[\d.]+$|:/.test(host);
  const lead = 'tls: failed to verify certificate: x509:';
  const fitting = names
    .filter((one) => one.startsWith(isAddress ? 'IP Address:' : 'DNS:'))
    .map((one) => one.slice(one.indexOf(':') + 1));
  if (fitting.length > 0) return `${lead} certificate is valid for ${fitting.join(', ')}, not ${host}`;
  if (isAddress) return `${lead} cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
  return `${lead} certificate is not valid for any names, but wanted to match ${host}`;
}
