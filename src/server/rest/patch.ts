/**
 * PATCH: the patch is applied to what is there, and the result goes the way of an update. Without a resourceVersion in
 * the patch it is applied again and again until it fits, so a race never shows to the client.
 */
import {
  badRequest,
  invalid,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  notFound,
  unsupportedMediaType,
} from '../../api/index.ts';
import { checkDecoded, goJson, JsonSyntaxError, mediaTypeOf, readJson, readYaml } from '../codec/index.ts';
import type { Exchange } from '../http/exchange.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from '../patch/index.ts';
import { negotiate } from './negotiation.ts';
import { checkNames } from './prepare.ts';
import type { View } from './resources.ts';
import type { Rest } from './rest.ts';
import { answer, type Place, updateObject } from './write.ts';
import { writeOptions } from './write-options.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

export async function handlePatch(rest: Rest, exchange: Exchange, view: View, place: Place): Promise<void> {
  const format = negotiate(exchange.headers, false);
  const { resource } = view;
  const type = mediaTypeOf(exchange.headers['content-type']);
  const isKnown = [JSON_PATCH, MERGE, APPLY].includes(type) || (type === STRATEGIC && !resource.isCustom);
  if (!isKnown) throw resource.isCustom ? unsupportedMediaType([JSON_PATCH, MERGE, APPLY]) : unsupportedMediaType();
  const options = writeOptions(exchange, 'PatchOptions', type === APPLY);
  const patch = readPatch(await exchange.readBody(), type);
  const first = await rest.writes.read(view, place.namespace, place.name);
  if (!first) throw notFound(resource, place.name);
  const warnings = new Set<string>();
  const updated = await updateObject(rest, exchange, view, place, options, first, (old) => {
    const patched = applyTo(old as unknown as JsonObject, patch, type, view);
    const refuse = (why: string) => rejected(patched, why);
    const decoded = checkDecoded(patched, resource, options.fieldValidation, refuse);
    for (const text of decoded.warnings) warnings.add(text);
    const object = decoded.object as unknown as KubeObject;
    checkNames(view, object, place.namespace, place.name);
    return object;
  });
  for (const text of warnings) exchange.warn(text);
  answer(exchange, 200, format, view, updated);
}

function applyTo(old: JsonObject, patch: JsonValue, type: string, { resource }: View): JsonObject {
  if (type === JSON_PATCH) return jsonPatch(old, patch) as JsonObject;
  if (type === STRATEGIC) return strategicMergePatch(old, patch, resource.schema);
  return mergePatch(old, patch) as JsonObject;
}

function readPatch(bytes: Buffer, type: string): JsonValue {
  try {
    return type === APPLY ? readYaml(bytes.toString()).value : readJson(bytes.toString()).value;
  } catch (err) {
    if (!(err instanceof JsonSyntaxError)) throw err;
    throw badRequest(`error decoding patch: ${err.message}`);
  }
}

/** The result of a patch is no object of the kind; the empty name is the reference server's. */
function rejected(patched: JsonObject, why: string) {
  return invalid({ kind: '', group: '' }, '', [invalidValue('patch', goJson(patched), why)]);
}
