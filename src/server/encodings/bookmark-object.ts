/** The object of a bookmark: only its version means something, the rest is what an empty one of its kind has. */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { checkObject, withNulls } from '../codec/index.ts';
import { isObject } from '../codec/json/json-objects.ts';
import type { Resource } from '../registry/resource.ts';
import type { Schema } from '../schema/schema.ts';
import type { ObjectCodec } from '../storage/objects/object-codec.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';

/** In the version that a resource is served in. */
export function bookmarkFor({ resource }: ResourceStorage, revision: number, isInitialEnd: boolean): KubeObject {
  const { kind, groupVersion } = resource;
  return bookmarkOf(resource, { kind, apiVersion: groupVersion }, revision, isInitialEnd);
}

/** In the version that objects are stored in. */
export function bookmarkObject({ resource, type }: ObjectCodec, revision: number, isInitialEnd: boolean): KubeObject {
  return bookmarkOf(resource, type, revision, isInitialEnd);
}

function bookmarkOf(
  resource: Resource,
  type: Pick<KubeObject, 'kind' | 'apiVersion'>,
  revision: number,
  isInitialEnd: boolean,
): KubeObject {
  const annotations = isInitialEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
  return { ...type, metadata, ...(!resource.isCustom && zeroFieldsOf(resource)) };
}

const known = new WeakMap<Resource, JsonObject>();

function zeroFieldsOf(resource: Resource): JsonObject {
  let zero = known.get(resource);
  if (!zero) {
    zero = makeZeroFields(resource);
    known.set(resource, zero);
  }
  return zero;
}

/** The fields that kube-apiserver writes of an object in which nobody has set anything. */
function makeZeroFields({ schema, plural, subresources }: Resource): JsonObject {
  const empty = withNulls(checkObject({}, schema).object, schema);
  addPointers(empty, schema);
  const { metadata: _metadata, kind: _kind, apiVersion: _version, ...zero } = empty;
  // What it defaults to is given when an object is decoded, and a bookmark never is.
  if (plural === 'replicationcontrollers') return { ...zero, spec: {} };
  // Most kinds with a scale count in a plain number inside kube-apiserver, and a plain number is never left out.
  if (subresources.some(({ name }) => name === 'scale')) zero.spec = { replicas: 0, ...(zero.spec as JsonObject) };
  return zero;
}

/** Required selectors and bytes are null: any object that is stored has them, so that nothing else needs to know. */
function addPointers(zero: JsonObject, schema: Schema): void {
  for (const name of schema.required ?? []) {
    const field = schema.properties?.get(name);
    if (field?.name?.endsWith('.LabelSelector') || field?.format === 'byte') zero[name] ??= null;
  }
  for (const [name, value] of Object.entries(zero)) {
    const field = schema.properties?.get(name);
    if (field && isObject(value)) addPointers(value, field);
  }
}
