/**
 * Which servers do not send the initial state by stream, so that they are asked once and not by every reflector.
 *
 * Remembered for each connection to a cluster: a refusal for its group and version (an aggregated server may refuse what
 * the main one takes), a stream that never came to its end for the resource (it may be too much of it). It is forgotten
 * with the transport.
 */
import type { Resource } from '../objects/define-resource.ts';
import type { Transport } from '../transport/transport.ts';

type Named = Pick<Resource, 'apiVersion' | 'plural'>;

const refused = new WeakMap<Transport, Set<string>>();

export function refusesWatchList(transport: Transport, { apiVersion, plural }: Named): boolean {
  const known = refused.get(transport);
  return known !== undefined && (known.has(apiVersion) || known.has(`${apiVersion} ${plural}`));
}

export function rememberRefusal(transport: Transport, { apiVersion, plural }: Named, isOfAll: boolean): void {
  const known = refused.get(transport) ?? new Set();
  refused.set(transport, known.add(isOfAll ? apiVersion : `${apiVersion} ${plural}`));
}
