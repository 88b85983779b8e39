/**
 * The types of custom kinds as they are published: the schema of the definition, made whole with what every object
 * has, and the type of its lists.
 */
import type { JsonObject } from '../../api/json.ts';
import type { Resource } from '../registry/resource.ts';
import { objectMetaName } from '../schema/schemas.ts';
import { described } from './descriptions.ts';
import { mapSchema } from './map-schema.ts';

/** `io.example.v1.Widget` for the kind Widget of example.io/v1. */
export function customTypeName({ group, version }: Pick<Resource, 'group' | 'version'>, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

/** What becomes of each schema of a definition before it is published. */
export type SchemaChange = (schema: JsonObject) => JsonObject;

/** The types of a custom resource by name, references by bare name. */
export function customTypes(resource: Resource, change: SchemaChange): [name: string, type: JsonObject][] {
  const { kind, listKind } = resource;
  const name = customTypeName(resource, kind);
  return [
    [name, objectType(resource, change)],
    [customTypeName(resource, listKind), listType(resource, name)],
  ];
}

/** A root of which nothing but its type is left says nothing of its fields: clients would take what it says for all. */
function objectType(resource: Resource, change: SchemaChange): JsonObject {
  const { kind, openApi = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } = resource;
  const mark = { 'x-kubernetes-group-version-kind': [kindMark(resource, kind)] };
  const changed = change(openApi);
  if (isOpen(changed)) return { type: 'object', ...mark };
  return { ...withObjectFields(mapSchema(openApi, (schema) => withEmbedded(change(schema)))), ...mark };
}

/** Keeps unknown fields, and names none. */
function isOpen(schema: JsonObject): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true && schema.type === undefined;
}

/** An object within an object has what every object has, and must say what it is. */
function withEmbedded(schema: JsonObject): JsonObject {
  if (schema['x-kubernetes-embedded-resource'] !== true || isOpen(schema)) return schema;
  const named = Array.isArray(schema.required) ? schema.required : [];
  const missing = ['kind', 'apiVersion'].filter((field) => !named.includes(field));
  return withObjectFields({ ...schema, required: [...named, ...missing] });
}

function withObjectFields(schema: JsonObject): JsonObject {
  const { properties: own } = described(LIKE_ANY_OBJECT, { properties: objectFields });
  const properties = { ...(schema.properties as JsonObject | undefined), ...(own as JsonObject) };
  const sorted = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...schema, properties: Object.fromEntries(sorted) };
}

/** Kubernetes says the same of these fields in all its kinds. */
const LIKE_ANY_OBJECT = 'io.k8s.api.core.v1.ConfigMap';
const objectFields: JsonObject = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { $ref: objectMetaName },
};

/** The same of lists. */
const LIKE_ANY_LIST = `${LIKE_ANY_OBJECT}List`;
const listFields: JsonObject = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { $ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta' },
};

function listType(resource: Resource, itemName: string): JsonObject {
  const { kind, listKind } = resource;
  const { properties } = described(LIKE_ANY_LIST, { properties: listFields });
  const { apiVersion, ...others } = properties as JsonObject;
  return {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: { apiVersion: apiVersion!, items: { type: 'array', items: { $ref: itemName } }, ...others },
    'x-kubernetes-group-version-kind': [kindMark(resource, listKind)],
  };
}

function kindMark({ group, version }: Resource, kind: string): JsonObject {
  return { group, kind, version };
}
