/** The body of a request, ready to be decoded without holding others up: long YAML is read aside while they have their turn. */
import { mediaTypeOf, readYamlAside } from '../codec/index.ts';
import type { Exchange } from '../http/exchange.ts';

export async function readBody(exchange: Exchange): Promise<Buffer> {
  const bytes = await exchange.readBody();
  if (mediaTypeOf(exchange.headers['content-type']).endsWith('yaml')) await readYamlAside(bytes, exchange.signal);
  return bytes;
}
