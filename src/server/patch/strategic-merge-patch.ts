/**
 * Strategic merge patch: a merge patch that knows from the schema which lists are merged by key or as sets, and that
 * takes directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…`, `$setElementOrder/…`).
 *
 * Pure: neither argument is written to. What was made by the merge itself (`MergeRun`) is, so that an element that a patch
 * names many times is copied once. The order of merged lists follows kube-apiserver: elements of the patch
 * keep their order and come before elements of the object that the object does not place earlier.
 * Faults are a plain 500 in kube-apiserver's words, a bad `$retainKeys` is a 400.
 */
import { badRequest, plainError, tooLarge } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonWord } from '../codec/check-object.ts';
import { isObject, ownValue, setKey } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import { goFormat } from './go-format.ts';
import { elementId, inElementOrder, placesOf } from './list-order.ts';
import { copyOf } from './merge-patch.ts';

const patchDirective = '$patch';
const retainKeysDirective = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList/';
const orderPrefix = '$setElementOrder/';

export function strategicMergePatch(object: JsonObject, patch: JsonValue, schema: Schema): JsonObject {
  if (!isObject(patch))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonWord(patch)} into Go value of type map[string]interface {}`,
    );
  return mergeMap(object, patch, schema, new MergeRun());
}

/** A list is walked anew for every element that names it: a patch that names one again and again must come to an end. */
const maxListElements = 1_000_000;

/** What one merge remembers: the objects that it has made and nobody else has seen, and how much it has done. */
class MergeRun {
  readonly #fresh = new Set<JsonObject>();
  #listElements = 0;

  /** The object itself if it was made here, else a copy. */
  own(object: JsonObject): JsonObject {
    return this.#fresh.has(object) ? object : this.made(copyOf(object));
  }

  made(object: JsonObject): JsonObject {
    this.#fresh.add(object);
    return object;
  }

  walksList(length: number): void {
    this.#listElements += length;
    if (this.#listElements > maxListElements) throw tooLarge('Cannot apply the patch: it merges too much');
  }
}

function mergeMap(original: JsonObject, patch: JsonObject, schema: Schema | undefined, run: MergeRun): JsonObject {
  const directive = ownValue(patch, patchDirective);
  if (directive !== undefined) return replaceByDirective(directive, patch);
  const result = retainedKeys(original, patch, run);
  const rest = copyOf(patch);
  delete rest[retainKeysDirective];
  for (const key of Object.keys(patch)) if (key.startsWith(orderPrefix)) orderList(key, result, rest, schema, run);
  for (const key of Object.keys(rest)) {
    if (key.startsWith(deletePrefix)) deletePrimitives(key, rest[key]!, result);
    else mergeMember(key, rest[key] ?? null, result, schema, run);
  }
  return result;
}

function mergeMember(
  key: string,
  change: JsonValue,
  result: JsonObject,
  schema: Schema | undefined,
  run: MergeRun,
): void {
  const before = ownValue(result, key);
  const child = childSchema(schema, key);
  if (change === null) delete result[key];
  else if (isObject(before) && isObject(change) && !hasStrategy(child, 'replace'))
    setKey(result, key, mergeMap(before, change, child, run));
  else if (Array.isArray(before) && Array.isArray(change) && hasStrategy(child, 'merge'))
    setKey(result, key, mergeList(before, change, child!, run));
  else setKey(result, key, cleaned(change));
}

/** `$patch: replace` leaves the patch itself, `$patch: delete` nothing. */
function replaceByDirective(directive: JsonValue, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {};
  if (directive !== 'replace') throw unknownDirective(directive, patch);
  const rest = copyOf(patch);
  delete rest[patchDirective];
  return rest;
}

function unknownDirective(directive: JsonValue, patch: JsonObject): Error {
  return plainError(`unknown patch type: ${goFormat(directive)} in map: ${goFormat(patch)}`);
}

/** A copy of the original, without the keys that the patch does not want retained. */
function retainedKeys(original: JsonObject, patch: JsonObject, run: MergeRun): JsonObject {
  const list = ownValue(patch, retainKeysDirective);
  if (list === undefined) return run.own(original);
  if (!Array.isArray(list)) throw badRequest('invalid patch format of retainKeys');
  const wanted: ReadonlySet<JsonValue> = new Set(list);
  for (const key of Object.keys(patch)) {
    const isDirective = key === retainKeysDirective || key.startsWith(deletePrefix) || key.startsWith(orderPrefix);
    if (!isDirective && patch[key] !== null && !wanted.has(key)) throw badRequest('invalid patch format of retainKeys');
  }
  const result: JsonObject = {};
  for (const key of Object.keys(original)) if (wanted.has(key)) setKey(result, key, original[key]!);
  return run.made(result);
}

function deletePrimitives(directive: string, values: JsonValue, result: JsonObject): void {
  if (!Array.isArray(values)) throw badRequest('invalid patch format of primitive list');
  const key = directive.slice(deletePrefix.length);
  const before = ownValue(result, key);
  if (Array.isArray(before)) setKey(result, key, without(before, values, undefined));
}

/** Merges one list and puts it in the order the patch asks for; what it used up is taken out of `rest`. */
function orderList(
  directive: string,
  result: JsonObject,
  rest: JsonObject,
  schema: Schema | undefined,
  run: MergeRun,
): void {
  const key = directive.slice(orderPrefix.length);
  const order = rest[directive];
  delete rest[directive];
  const before = ownValue(result, key);
  const change = ownValue(rest, key);
  if (!Array.isArray(order)) throw badRequest('invalid patch format of setElementOrder list');
  if (before !== undefined && !Array.isArray(before)) return;
  if (change !== undefined && !Array.isArray(change)) return;
  if (before === undefined && change === undefined) return;
  const list = childSchema(schema, key);
  const mergeKey = list?.patchMergeKey;
  if (change) checkOrder(change, order, mergeKey);
  const gone = ownValue(rest, deletePrefix + key);
  const kept = without(before ?? [], Array.isArray(gone) ? gone : [], undefined);
  delete rest[deletePrefix + key];
  const merged = change ? mergeList(kept, change, list ?? { type: 'array' }, run) : kept;
  setKey(result, key, inElementOrder(merged, order, kept, mergeKey));
  delete rest[key];
}

function without(list: readonly JsonValue[], gone: readonly JsonValue[], mergeKey: string | undefined): JsonValue[] {
  if (gone.length === 0) return [...list];
  const ids = placesOf(gone, mergeKey);
  return list.filter((item) => !ids.has(elementId(item, mergeKey)));
}

/** The elements that the patch keeps must come in the order it asks for. */
function checkOrder(change: readonly JsonValue[], order: readonly JsonValue[], mergeKey: string | undefined): void {
  const kept = change.filter((item) => !isObject(item) || item[patchDirective] === undefined);
  const places = placesOf(order, mergeKey);
  let last = -1;
  for (const item of kept) {
    const place = places.get(elementId(item, mergeKey)) ?? -1;
    if (place <= last) throw wrongOrder(change, order);
    last = place;
  }
}

function wrongOrder(change: readonly JsonValue[], order: readonly JsonValue[]): Error {
  const found = `The order in patch list:\n${goFormat([...change])}\n`;
  return plainError(`${found} doesn't match $setElementOrder list:\n${goFormat([...order])}\n`);
}

function mergeList(
  original: readonly JsonValue[],
  patch: readonly JsonValue[],
  schema: Schema,
  run: MergeRun,
): JsonValue[] {
  if (original.length === 0 && patch.length === 0) return [];
  run.walksList(original.length + patch.length);
  if (!isObject(patch[0] ?? original[0])) {
    const all = [...original, ...patch];
    const places = placesOf(all, undefined);
    const merged = all.filter((item, i) => places.get(elementId(item, undefined)) === i);
    return inElementOrder(merged, patch, original, undefined);
  }
  const mergeKey = schema.patchMergeKey;
  if (mergeKey === undefined) throw plainError('cannot merge lists without merge key');
  const { kept, changes } = applyElementDirectives(original, patch, mergeKey);
  const merged = [...kept];
  const places = new Map(placesOf(kept, mergeKey));
  for (const change of changes) {
    const id = elementId(change, mergeKey);
    const at = places.get(id);
    const before = at === undefined ? undefined : merged[at];
    if (isObject(before)) merged[at!] = mergeMap(before, change, schema.items, run);
    else places.set(id, merged.push(cleaned(change)) - 1);
  }
  return inElementOrder(merged, changes, kept, mergeKey);
}

/** Takes the elements with `$patch` out of a patch list, and does what they say. */
function applyElementDirectives(
  original: readonly JsonValue[],
  patch: readonly JsonValue[],
  mergeKey: string,
): { kept: readonly JsonValue[]; changes: readonly JsonObject[] } {
  const gone: JsonObject[] = [];
  let isReplaced = false;
  const changes: JsonObject[] = [];
  for (const item of patch) {
    if (!isObject(item)) throw plainError('The type of the elements in the patch list is not a map');
    const directive = ownValue(item, patchDirective);
    if (directive === 'replace') isReplaced = true;
    else if (directive === 'merge') throw plainError('merging lists cannot yet be specified in the patch');
    else if (directive !== undefined && directive !== 'delete') throw unknownDirective(directive, item);
    else {
      if (ownValue(item, mergeKey) === undefined && !(directive === undefined && isReplaced))
        throw plainError(`map: ${goFormat(item)} does not contain declared merge key: ${mergeKey}`);
      if (directive === undefined) changes.push(item);
      else gone.push(item);
    }
  }
  return isReplaced ? { kept: changes, changes: [] } : { kept: without(original, gone, mergeKey), changes };
}

/** A value as it is stored when there was nothing to merge it with: no nulls in objects, no directives. */
function cleaned(value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const isPlain = (item: JsonValue) => !isObject(item) || ownValue(item, patchDirective) === undefined;
    return value.filter(isPlain).map(cleaned);
  }
  if (!isObject(value)) return value;
  const directive = ownValue(value, patchDirective);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'replace') throw unknownDirective(directive, value);
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const child = value[key] ?? null;
    if (child !== null && !isDirective(key)) setKey(result, key, cleaned(child));
  }
  return result;
}

function isDirective(key: string): boolean {
  return (
    key === patchDirective || key === retainKeysDirective || key.startsWith(deletePrefix) || key.startsWith(orderPrefix)
  );
}

function childSchema(schema: Schema | undefined, key: string): Schema | undefined {
  if (!schema) return undefined;
  return schema.properties?.get(key) ?? (schema.additional === true ? undefined : schema.additional);
}

function hasStrategy(schema: Schema | undefined, strategy: 'merge' | 'replace'): boolean {
  return schema?.patchStrategies?.includes(strategy) === true;
}
