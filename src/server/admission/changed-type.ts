/**
 * The type of an object that a webhook or a policy has changed: it must be what it was. What does not say its type any
 * more is still of it; of another type it cannot be read, or not be converted back. Pure.
 */
import { internalError, invalid, invalidValue, type JsonObject, type KubeObject, plainError } from '../../api/index.ts';
import { typeFault } from '../codec/index.ts';
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
  if (resource.isCustom && resource.kind === type.kind) throw otherCustomType(object, { kind, apiVersion }, type);
  const found = { kind: kind || type.kind, apiVersion: apiVersion || type.groupVersion };
  if (found.kind === type.kind && found.apiVersion === type.groupVersion) return { ...object, ...found };
  const { isKnown, why } = typeFault(found, type);
  throw isKnown ? plainError(why) : internalError(why);
}

/** A custom object may be anything; that it is not what its definition says is told by validation. */
function otherCustomType(
  object: JsonObject,
  found: { kind: string; apiVersion: string },
  type: { kind: string; groupVersion: string },
): Error {
  const { kind, apiVersion } = found;
  if (kind === '') return internalError(`Object 'Kind' is missing in '${JSON.stringify(object)}'`);
  const faults = [];
  if (kind !== type.kind) faults.push(invalidValue('kind', kind, `must be ${type.kind}`));
  if (apiVersion !== type.groupVersion)
    faults.push(invalidValue('apiVersion', apiVersion, `must be ${type.groupVersion}`));
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const { metadata } = object as unknown as Partial<KubeObject>;
  return invalid({ kind, group }, metadata?.name ?? '', faults);
}

function textOf(object: JsonObject, field: 'kind' | 'apiVersion'): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}
