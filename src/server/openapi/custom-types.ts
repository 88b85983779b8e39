/**
 * The types of custom kinds as they are published: the schema of the definition, made whole with what every object
 * has, and the type of its lists.
 */
import type { JsonObject } from '../../api/json.ts';
import type { Resource } from '../registry/resource.ts';
import { objectMetaName } from '../schema/schemas.ts';

/** `io.example.v1.Widget` for the kind Widget of example.io/v1. */
export function customTypeName({ group, version }: Pick<Resource, 'group' | 'version'>, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

/** The types of a custom resource by name, references by bare name. */
export function customTypes(resource: Resource): [name: string, type: JsonObject][] {
  const { kind, listKind } = resource;
  const name = customTypeName(resource, kind);
  return [
    [name, objectType(resource)],
    [customTypeName(resource, listKind), listType(resource, name)],
  ];
}

function objectType(resource: Resource): JsonObject {
  const { kind, openApi = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } = resource;
  return {
    ...openApi,
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      ...(openApi.properties as JsonObject | undefined),
      metadata: { $ref: objectMetaName },
    },
    'x-kubernetes-group-version-kind': [kindMark(resource, kind)],
  };
}

function listType(resource: Resource, itemName: string): JsonObject {
  const { kind, listKind } = resource;
  return {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { type: 'string' },
      items: { type: 'array', items: { $ref: itemName } },
      kind: { type: 'string' },
      metadata: { $ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta' },
    },
    'x-kubernetes-group-version-kind': [kindMark(resource, listKind)],
  };
}

function kindMark({ group, version }: Resource, kind: string): JsonObject {
  return { group, kind, version };
}
