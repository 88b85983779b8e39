/**
 * Answers that come compressed: whether they are asked for, and reading them.
 *
 * It pays where bytes cost more than the work on both ends, so not on this machine. A stream is never asked for that way:
 * its events would wait in the compressor. Reading goes as fast as the reader, who counts what comes out against the
 * limit of a body, so little that turns into much is read no further than that.
 */
import type { Duplex, Readable } from 'node:stream';
import { TransportError } from '../errors.ts';

/** Unless it is said: not of a server on this machine, nor over connections within the process. */
export function asksForGzip(
  { server, dial }: { readonly server: URL; readonly dial?: (() => Duplex) | undefined },
  wanted?: boolean,
): boolean {
  return wanted ?? (dial === undefined && !isOfThisMachine(server.hostname));
}

function isOfThisMachine(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The body as it was before it was compressed. */
export async function unpacked(
  body: Readable,
  encoding: string | string[] | undefined,
  isAsked: boolean,
  request: string,
): Promise<Readable> {
  if (encoding === undefined || encoding === 'identity') return body;
  if (!isAsked || encoding !== 'gzip') {
    body.destroy();
    const form = JSON.stringify(String(encoding).slice(0, 40));
    throw new TransportError('body', `Cannot read ${request}: it is encoded as ${form}, which was not asked for`);
  }
  const [{ pipeline }, { createGunzip }] = await Promise.all([import('node:stream'), import('node:zlib')]);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  pipeline(body, gunzip, () => {}); // thrown to whoever reads, and nowhere else
  return gunzip;
}
