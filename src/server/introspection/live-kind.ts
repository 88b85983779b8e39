/**
 * From a few lines about a kind to the resource that is served: the same way as a CustomResourceDefinition's, so that
 * discovery, OpenAPI, tables and field selectors know it without being told anything more.
 */
import type { JsonObject } from '../../api/index.ts';
import { customResources } from '../apiextensions/custom-resources.ts';
import type { Definition } from '../apiextensions/definition.ts';
import type { PrinterColumn } from '../registry/custom-kind.ts';
import type { Resource } from '../registry/resource.ts';

export const GROUP = 'introspection.longwatch.dev';
export const VERSION = 'v1alpha1';

/** The fields of an object by name: what they are, with a sentence each. */
export type Fields = Readonly<Record<string, JsonObject>>;

export type LiveKind = {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly isNamespaced?: boolean;
  readonly verbs: readonly string[];
  readonly untoldVerbs?: readonly string[];
  readonly description: string;
  readonly fields: Fields;
  /** Beside the name; those with a priority are shown with `-o wide` only. */
  readonly columns: readonly PrinterColumn[];
  /** What a field selector may name: `spec.user`. */
  readonly selectable?: readonly string[];
};

export function text(description: string): JsonObject {
  return { type: 'string', description };
}

export function time(description: string): JsonObject {
  return { type: 'string', format: 'date-time', description };
}

export function count(description: string): JsonObject {
  return { type: 'integer', format: 'int64', description };
}

export function decimal(description: string): JsonObject {
  return { type: 'number', description };
}

export function flag(description: string): JsonObject {
  return { type: 'boolean', description };
}

export function texts(description: string): JsonObject {
  return { type: 'array', items: { type: 'string' }, description };
}

export function group(description: string, properties: Fields): JsonObject {
  return { type: 'object', description, properties: { ...properties } };
}

export function groups(description: string, properties: Fields): JsonObject {
  return { type: 'array', description, items: { type: 'object', properties: { ...properties } } };
}

export function anything(description: string): JsonObject {
  return { 'x-kubernetes-preserve-unknown-fields': true, description };
}

export function column(name: string, jsonPath: string, type = 'string', priority = 0): PrinterColumn {
  return { name, type, jsonPath, priority, description: `The value of ${jsonPath.slice(1)}` };
}

/** For `-o wide`. */
export function wideColumn(name: string, jsonPath: string, type = 'string'): PrinterColumn {
  return column(name, jsonPath, type, 1);
}

export function resourceOf(live: LiveKind): Resource {
  const { kind, plural, shortName, verbs, untoldVerbs = [], columns, selectable = [] } = live;
  const names = { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames: [shortName] };
  const version = {
    name: VERSION,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schemaOf(live) },
    additionalPrinterColumns: [...columns],
    selectableFields: selectable.map((path) => ({ jsonPath: `.${path}` })),
  };
  const definition: Definition = {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: `${plural}.${GROUP}` },
    spec: { group: GROUP, names, scope: live.isNamespaced ? 'Namespaced' : 'Cluster', versions: [version] },
    status: { conditions: [], acceptedNames: names, storedVersions: [VERSION] },
  };
  const { stored } = customResources(definition, 0, { isTerminating: false });
  return Object.assign(stored, { verbs, untoldVerbs, isLive: true });
}

function schemaOf({ description, fields }: LiveKind): JsonObject {
  return { type: 'object', description, properties: { ...fields } };
}
