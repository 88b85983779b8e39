/**
 * What all objects made here have in common: names, and a UID that is of this process, so that nothing is taken for
 * something of the same name before a restart.
 */
import { randomBytes } from 'node:crypto';
import { type JsonObject, type KubeObject, rfc3339 } from '../../api/index.ts';
import { GROUP, VERSION } from './live-kind.ts';

export const STARTED_AT: number = Date.now();
const own = randomBytes(8).toString('hex');

/** By kind and number: the same object has the same UID for as long as the server runs. */
export function uidOf(kind: number, number: number): string {
  const part = number.toString(16).padStart(12, '0').slice(-12);
  return `${own.slice(0, 8)}-${own.slice(8, 12)}-4${own.slice(12, 15)}-a${kind.toString(16).padStart(3, '0')}-${part}`;
}

export function liveObject(
  kind: string,
  { name, uid, createdAt }: { readonly name: string; readonly uid: string; readonly createdAt: number },
  fields: JsonObject,
): KubeObject {
  const metadata = { name, uid, creationTimestamp: rfc3339(createdAt) };
  return { apiVersion: `${GROUP}/${VERSION}`, kind, metadata, ...fields } as KubeObject;
}

/** Rounded, so that what stays the same looks the same. */
export function rounded(value: number, digits = 1): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
