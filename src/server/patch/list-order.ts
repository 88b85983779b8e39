/**
 * The order of a list that was merged from a patch and an object: elements of the patch in the order of the patch, the
 * others in the order they had, each other element in front of the first patch element that it preceded.
 *
 * Elements are told apart by a text (`elementId`), so that long lists cost their length and not its square.
 */
import type { JsonValue } from '../../api/json.ts';
import { jsonText } from '../../api/json-text.ts';
import { sortKeys } from '../codec/encode.ts';
import { isObject, ownValue } from '../codec/json/json-objects.ts';

/** What makes an element itself: the value of its merge key, or all of it. */
export function elementId(item: JsonValue, mergeKey: string | undefined): string {
  if (!isObject(item)) return jsonText(item);
  const key = mergeKey === undefined ? undefined : ownValue(item, mergeKey);
  return key === undefined ? jsonText(sortKeys(item)) : jsonText(key);
}

/** Where each element of a list stands, by its id; the first one counts. */
export function placesOf(list: readonly JsonValue[], mergeKey: string | undefined): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (let i = 0; i < list.length; i++) {
    const id = elementId(list[i]!, mergeKey);
    if (!places.has(id)) places.set(id, i);
  }
  return places;
}

/** Puts `merged` in order, given the list of the patch (or the order it asks for) and that of the object. */
export function inElementOrder(
  merged: readonly JsonValue[],
  patchOrder: readonly JsonValue[],
  serverOrder: readonly JsonValue[],
  mergeKey: string | undefined,
): JsonValue[] {
  const inPatch = placesOf(patchOrder, mergeKey);
  const inServer = placesOf(serverOrder, mergeKey);
  const items = merged.map((item) => {
    const id = elementId(item, mergeKey);
    return { item, patch: inPatch.get(id) ?? -1, server: inServer.get(id) ?? -1 };
  });
  const fromPatch = items.filter(({ patch }) => patch >= 0).sort((a, b) => a.patch - b.patch);
  const others = items.filter(({ patch }) => patch < 0).sort((a, b) => a.server - b.server);
  const result: JsonValue[] = [];
  let next = 0;
  for (const { item, server } of fromPatch) {
    while (next < others.length && server >= 0 && others[next]!.server >= 0 && others[next]!.server < server)
      result.push(others[next++]!.item);
    result.push(item);
  }
  return [...result, ...others.slice(next).map(({ item }) => item)];
}
