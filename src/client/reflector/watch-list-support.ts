/**
 * Which servers do not send the initial state by stream, so that they are asked once and not by every reflector.
 *
 * Remembered for each connection to a cluster and for each group and version: an aggregated server may refuse what the
 * main one takes. It is forgotten with the transport.
 */
import type { Resource } from '../resources/define-resource.ts';
import type { Transport } from '../transport/transport.ts';

const refused = new WeakMap<Transport, Set<string>>();

export function refusesWatchList(transport: Transport, { apiVersion }: Pick<Resource, 'apiVersion'>): boolean {
  return refused.get(transport)?.has(apiVersion) ?? false;
}

export function rememberRefusal(transport: Transport, { apiVersion }: Pick<Resource, 'apiVersion'>): void {
  const known = refused.get(transport) ?? new Set();
  refused.set(transport, known.add(apiVersion));
}
