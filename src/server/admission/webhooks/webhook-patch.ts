/**
 * The JSON patch that a mutating webhook answers, applied to the object it was sent. Pure. What is no patch is the
 * webhook's fault; a patch that does not fit the object fails the request whatever the policy of the webhook is, in the
 * words of kube-apiserver.
 */
import { internalError, isStatusError, type JsonObject, type JsonValue } from '../../../api/index.ts';
import { jsonWord, noType } from '../../codec/index.ts';
import { isObject } from '../../codec/json/json-objects.ts';
import { JsonSyntaxError, readJson } from '../../codec/json/json-reader.ts';
import { jsonPatch, patchFaultOf } from '../../patch/json-patch.ts';

/** The operations of a patch, of which `null` has none; an Error says why it is no patch. */
export function readPatch(bytes: Buffer): JsonValue[] {
  let patch: JsonValue;
  try {
    patch = readJson(bytes.toString('utf8'), bytes).value;
  } catch (err) {
    if (err instanceof JsonSyntaxError) throw new Error(err.message);
    throw err;
  }
  if (patch === null) return [];
  if (!Array.isArray(patch))
    throw new Error(`json: cannot unmarshal ${jsonWord(patch)} into Go value of type jsonpatch.Patch`);
  const odd = patch.find((operation) => !isObject(operation));
  if (odd !== undefined)
    throw new Error(`json: cannot unmarshal ${jsonWord(odd)} into Go value of type jsonpatch.Operation`);
  return patch;
}

export function applyPatch(object: JsonObject, patch: readonly JsonValue[]): JsonObject {
  try {
    return mustBeObject(jsonPatch(object, patch as JsonValue[]));
  } catch (err) {
    if (!isStatusError(err) || err.code === 500) throw err;
    throw internalError(patchFaultOf(err)?.message ?? err.message, { cause: err });
  }
}

function mustBeObject(patched: JsonValue): JsonObject {
  if (isObject(patched)) return patched;
  throw internalError(noType(patched));
}
