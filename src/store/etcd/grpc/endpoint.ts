/**
 * Where an etcd member is reached: an http:// or https:// URL of host and port, and for https the certificates.
 * Anything else is refused with InvalidArgument when the store is opened, not when it is first used.
 */
import { StoreError } from '../../errors.ts';

export type EtcdTlsOptions = {
  /** PEM of the authorities to trust; those of the system by default. */
  readonly ca?: string | Buffer;
  /** PEM of the client's certificate and of its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name to expect in the server's certificate; the host of the URL by default. */
  readonly serverName?: string;
};

/** `authority` is the origin that HTTP/2 connects to, such as `https://10.0.0.1:2379`. */
export type Endpoint = { readonly authority: string; readonly isTls: boolean };

export function parseEndpoints(urls: readonly string[], tls: EtcdTlsOptions | undefined): Endpoint[] {
  if (urls.length === 0) throw refusal('no endpoint was given');
  const endpoints = urls.map(parseEndpoint);
  if ((tls?.cert === undefined) !== (tls?.key === undefined))
    throw refusal('a client certificate needs both its certificate and its key');
  if (tls && endpoints.every(({ isTls }) => !isTls))
    throw refusal('certificates were given, but no endpoint begins with https://');
  return endpoints;
}

function parseEndpoint(text: string): Endpoint {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refusal(`${JSON.stringify(text)} is no URL, write it as http://host:2379 or https://host:2379`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refusal(`${JSON.stringify(text)} begins with neither http:// nor https://`);
  if (url.username !== '' || url.password !== '') throw refusal(`the URL of host ${url.host} holds a password`);
  if ((url.pathname !== '/' && url.pathname !== '') || url.search !== '' || url.hash !== '')
    throw refusal(`${JSON.stringify(text)} has something after its host and port`);
  return { authority: url.origin, isTls: url.protocol === 'https:' };
}

function refusal(found: string): StoreError {
  return new StoreError('InvalidArgument', `Cannot open the etcd store: ${found}`);
}
