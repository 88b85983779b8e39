/**
 * The type of an object that a webhook or a policy has changed: it must be what it was. What does not say its type any
 * more is still of it; of another type it cannot be read, or not be converted back. Pure.
 */
import { internalError, type JsonObject, plainError } from '../../api/index.ts';
import { otherCustomType, typeFault } from '../codec/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { GroupVersionKind } from './admission.ts';

/** What the object was shown as. */
export type ShownAs = { readonly resource: Resource; readonly kind: GroupVersionKind };

/** The object with its type; throws what the request fails with if that is another one now. */
export function withItsType(object: JsonObject, { resource, kind: shown }: ShownAs): JsonObject {
  const groupVersion = shown.group === '' ? shown.version : `${shown.group}/${shown.version}`;
  const type = { kind: shown.kind, groupVersion };
  const kind = textOf(object, 'kind');
  const apiVersion = textOf(object, 'apiVersion');
  if (kind === type.kind && apiVersion === type.groupVersion) return object;
  if (resource.isCustom && resource.kind === type.kind) {
    if (kind === '') throw internalError(`Object 'Kind' is missing in '${JSON.stringify(object)}'`);
    throw otherCustomType(object, { kind, apiVersion }, type);
  }
  const found = { kind: kind || type.kind, apiVersion: apiVersion || type.groupVersion };
  if (found.kind === type.kind && found.apiVersion === type.groupVersion) return { ...object, ...found };
  const { isKnown, why } = typeFault(found, type);
  throw isKnown ? plainError(why) : internalError(why);
}

function textOf(object: JsonObject, field: 'kind' | 'apiVersion'): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}
