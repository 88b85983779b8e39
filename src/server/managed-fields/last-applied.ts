/**
 * The annotation in which `kubectl apply` keeps what it applied, for who moves on to server-side apply: fields that it
 * names and that still have its values belong to kubectl, whoever owns them on paper, and applying keeps it up to date.
 * For no manager but `kubectl`, and only where the annotation is there.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { goJson } from '../codec/encode.ts';
import { isObject } from '../codec/json/json-objects.ts';
import { parseJson } from '../codec/json/json-reader.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects } from './compare.ts';
import { difference, emptySet, type FieldSet, unionAll } from './field-sets/field-set.ts';
import { setOfObject, TypedError } from './field-sets/object-set.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const kubectl = 'kubectl';
const annotationsLimitBytes: number = 256 * 1024;

/** What kubectl may change although others own it. Nothing, if the annotation cannot be read as an object of this type. */
export function lastAppliedFields(live: JsonObject, schema: Schema, manager: string, apiVersion: string): FieldSet {
  const text = manager === kubectl ? annotationsOf(live)[annotation] : undefined;
  if (typeof text !== 'string' || text === '') return emptySet;
  try {
    const applied = parseJson(text);
    if (!isObject(applied) || applied.apiVersion !== apiVersion) return emptySet;
    const { added, modified, removed } = compareObjects(applied, live, schema);
    return difference(setOfObject(applied, schema), unionAll([added, modified, removed]));
  } catch (err) {
    if (err instanceof SyntaxError || err instanceof TypedError) return emptySet;
    throw err;
  }
}

/** The object with what was just applied in its annotation; without the annotation, should it be too long. */
export function withLastApplied(object: JsonObject, body: JsonObject, manager: string): JsonObject {
  const annotations = annotationsOf(object);
  if (manager !== kubectl || !annotations[annotation]) return object;
  const { [annotation]: _, ...others } = annotations;
  const value = `${goJson(sorted(withoutAnnotation(body)))}\n`;
  const bytes = Object.entries({ ...others, [annotation]: value }).reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(text)),
    0,
  );
  const kept = bytes > annotationsLimitBytes ? others : { ...annotations, [annotation]: value };
  return { ...object, metadata: { ...(object.metadata as JsonObject), annotations: kept } };
}

function withoutAnnotation(body: JsonObject): JsonObject {
  const annotations = annotationsOf(body);
  if (annotations[annotation] === undefined) return body;
  const { [annotation]: _, ...others } = annotations;
  return { ...body, metadata: { ...(body.metadata as JsonObject), annotations: others } };
}

function annotationsOf({ metadata }: JsonObject): JsonObject {
  const annotations = isObject(metadata) ? metadata.annotations : undefined;
  return isObject(annotations) ? annotations : {};
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key]!)]),
  );
}
