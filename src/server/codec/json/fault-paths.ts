/**
 * Where in a document something is wrong with a field: kept as steps, put into words only when somebody is told.
 *
 * Bounded twice: at most `maxFaults` are kept, as in kube-apiserver, and a path in words has at most
 * `pathLimitBytes`. A document of one long key with many below it would otherwise be told back many times over.
 */

import type { JsonValue } from '../../../api/json.ts';
import { cutText } from '../../../api/json-text.ts';

/** Names of fields and indexes of lists, from the top. */
export type FaultPath = readonly (string | number)[];

export const maxFaults = 100;
export const pathLimitBytes: number = 4 * 1024;

/** The path as field validation spells it: `spec.containers[0].foo`. */
export function faultPathText(path: FaultPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
    if (text.length > pathLimitBytes) break;
  }
  return cutText(text, pathLimitBytes);
}

/** Puts faults in the order in which a document has their fields. Of each object on a path the keys are looked at once. */
export function inDocumentOrder<Fault extends { readonly path: FaultPath }>(
  faults: readonly Fault[],
  document: JsonValue,
): Fault[] {
  const keyPlaces = new Map<object, ReadonlyMap<string, number>>();
  const placed = faults.map((fault) => ({ fault, places: placesOf(fault.path, document, keyPlaces) }));
  return placed.sort((a, b) => comparePlaces(a.places, b.places)).map(({ fault }) => fault);
}

function placesOf(
  path: FaultPath,
  document: JsonValue,
  keyPlaces: Map<object, ReadonlyMap<string, number>>,
): readonly number[] {
  const places: number[] = [];
  let value: JsonValue | undefined = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) break;
    if (Array.isArray(value)) {
      places.push(Number(step));
      value = value[Number(step)];
      continue;
    }
    let keys = keyPlaces.get(value);
    if (!keys) {
      keys = new Map(Object.keys(value).map((key, place) => [key, place]));
      keyPlaces.set(value, keys);
    }
    places.push(keys.get(String(step)) ?? 0);
    value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return places;
}

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
