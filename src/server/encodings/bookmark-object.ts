/** The object of a bookmark: only its version means something, the rest is what an empty one of its kind has. */
import type { JsonObject, JsonValue, KubeObject } from '../../api/index.ts';
import type { Schema } from '../schema/schema.ts';
import type { ObjectCodec } from '../storage/objects/object-codec.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';

/** In the version that a resource is served in. */
export function bookmarkFor(
  { resource, objects }: ResourceStorage,
  revision: number,
  isInitialEnd: boolean,
): KubeObject {
  const bookmark = bookmarkObject(objects.codec, revision, isInitialEnd);
  return { ...bookmark, kind: resource.kind, apiVersion: resource.groupVersion };
}

/** In the version that objects are stored in. */
export function bookmarkObject(codec: ObjectCodec, revision: number, isInitialEnd: boolean): KubeObject {
  const annotations = isInitialEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
  if (codec.resource.isCustom) return { ...codec.type, metadata };
  const { schema, subresources } = codec.resource;
  const { metadata: _metadata, kind: _kind, apiVersion: _version, ...zero } = zeroFields(schema);
  // Kinds with a scale count in a plain number inside kube-apiserver, and a plain number is never left out.
  if (subresources.some(({ name }) => name === 'scale')) zero.spec = { replicas: 0, ...(zero.spec as JsonObject) };
  return { ...codec.type, metadata, ...zero };
}

/** The fields that kube-apiserver writes even if nothing is in them: required ones, and structures. */
function zeroFields(schema: Schema): JsonObject {
  const zero: JsonObject = {};
  for (const [name, field] of schema.properties ?? []) {
    const isStructure = field.properties !== undefined && field.default !== undefined;
    if (isStructure) zero[name] = zeroFields(field);
    else if (schema.required?.includes(name)) zero[name] = field.default ?? zeroOf(field);
  }
  return zero;
}

function zeroOf({ type }: Schema): JsonValue {
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'string') return '';
  return type === 'boolean' ? false : null;
}
