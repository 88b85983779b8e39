/**
 * The one door for patches that do not track ownership: bytes and a stored object in, the patched object out, checked
 * against its type. Apply has a door of its own (`managed-fields`).
 *
 * Pure but for its errors: a body that is no patch is a 400, a patch that does not fit the object a 422 (or what the
 * kind of patch says), and a result that its type refuses a 422 that shows the result, as kube-apiserver does.
 */
import { invalidValue } from '../../api/errors/field-error.ts';
import { badRequest, invalid, type StatusError, unsupportedMediaType } from '../../api/errors/status-error.ts';
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { jsonWord } from '../codec/check-object.ts';
import { type BodyType, checkDecoded, type DecodedBody, mediaTypeOf } from '../codec/decode-body.ts';
import { goJson } from '../codec/encode.ts';
import type { FieldValidation } from '../codec/field-validation.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { type JsonReading, JsonSyntaxError, readJson } from '../codec/json/json-reader.ts';
import { goFormat } from './go-format.ts';
import { jsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { strategicMergePatch } from './strategic-merge-patch.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const typeOfMedia: ReadonlyMap<string, PatchType> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

/** What a PATCH with this content type is; a 415 if nothing this resource takes. */
export function patchTypeOf(contentType: string | undefined, isCustom: boolean): PatchType {
  const type = typeOfMedia.get(mediaTypeOf(contentType));
  if (type && !(isCustom && type === 'strategic')) return type;
  if (!isCustom) throw unsupportedMediaType();
  throw unsupportedMediaType([...typeOfMedia.keys()].filter((media) => !media.includes('strategic')));
}

export type PatchRequest = {
  readonly type: Exclude<PatchType, 'apply'>;
  readonly bytes: Uint8Array;
  readonly object: JsonObject;
  readonly resource: BodyType;
  readonly fieldValidation?: FieldValidation;
};

export function patchObject({ type, bytes, object, resource, fieldValidation = 'Warn' }: PatchRequest): DecodedBody {
  const { value: patch, duplicates } = readPatch(bytes);
  const result = patched(type, object, patch, resource);
  const refuse = (why: string) => refusedResult(type === 'strategic' ? goFormat(patch) : goJson(result), why);
  if (!isObject(result))
    throw refuse(`json: cannot unmarshal ${jsonWord(result)} into Go value of type v1.${resource.kind}`);
  return checkDecoded(result, resource, fieldValidation, refuse, { duplicateFields: duplicates });
}

function patched(type: PatchRequest['type'], object: JsonObject, patch: JsonValue, resource: BodyType): JsonValue {
  switch (type) {
    case 'json':
      return jsonPatch(object, patch);
    case 'strategic':
      return strategicMergePatch(object, patch, resource.schema);
    case 'merge':
      if (isObject(patch)) return mergePatch(object, patch);
      if (patch === null) throw badRequest('Invalid JSON Patch');
      throw badRequest(
        `error decoding patch: json: cannot unmarshal ${jsonWord(patch)} into Go value of type map[string]interface {}`,
      );
  }
}

function readPatch(bytes: Uint8Array): JsonReading {
  try {
    return readJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'), bytes);
  } catch (err) {
    throw err instanceof JsonSyntaxError ? badRequest(`error decoding patch: ${err.message}`) : err;
  }
}

/** The empty kind and name are real: kube-apiserver names nothing here. */
function refusedResult(shown: string, why: string): StatusError {
  return invalid({ kind: '', group: '' }, '', [invalidValue('patch', shown, why)]);
}
