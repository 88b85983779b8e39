/**
 * A custom kind from the schemas a program has anyway: the definition for the cluster and the token for the client, which
 * therefore cannot disagree.
 *
 *     const widgets = defineCrd({ group: 'ex.io', version: 'v1', kind: 'Widget', spec: z.object({ size: z.int() }) });
 *     await installCrd(client, widgets);
 *     await client.resource(widgets.resource).create({ metadata: { name: 'a' }, spec: { size: 1 } });
 *
 * A schema is anything of Standard Schema that can give its JSON Schema (Zod, ArkType, Valibot by `toStandardJsonSchema`), a
 * JSON Schema as it is (TypeBox), or both named. What has no structural form, and what the server would not take, is refused
 * with its place, when it is defined.
 */
import type { JsonObject } from '../../api/index.ts';
import { ConfigError } from '../errors.ts';
import { defineResource, type Resource } from '../objects/define-resource.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceSubresourceScale,
} from '../objects/generated/apiextensions-v1.ts';
import type { ApiObject, Draft, UnknownFields } from '../objects/objects.ts';
import type { StandardSchemaV1 } from '../objects/standard-schema.ts';
import type { StructuralSchema } from '../objects/structural-schema.ts';
import { definitionFaults } from './definition-faults.ts';
import { fromJsonSchema } from './from-json-schema.ts';
import { schemaValidator } from './schema-validator.ts';

/** As it is: nothing of it is known to the compiler. */
export type JsonSchema = object;

export type SchemaSource<T> =
  | StandardSchemaV1<unknown, T>
  | JsonSchema
  | { readonly validate: StandardSchemaV1<unknown, T>; readonly jsonSchema: JsonSchema };

export type CrdOptions<Spec, Status> = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The kind in small letters, in the plural as English mostly has it. */
  readonly plural?: string | undefined;
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  /** true */
  readonly isNamespaced?: boolean | undefined;
  readonly description?: string | undefined;
  readonly spec: SchemaSource<Spec>;
  /** With one the status is a subresource: without one it may be anything, and is one too. */
  readonly status?: SchemaSource<Status> | undefined;
  /** What `kubectl get` shows beside name and age. */
  readonly columns?: readonly CustomResourceColumnDefinition[] | undefined;
  readonly scale?: CustomResourceSubresourceScale | undefined;
};

export type CrdDefinition<Spec = UnknownFields, Status = UnknownFields> = {
  readonly crd: Draft<CustomResourceDefinition> & { metadata: { name: string } };
  readonly resource: Resource<ApiObject<Spec, Status>>;
};

export function defineCrd<Spec = UnknownFields, Status = UnknownFields>(
  options: CrdOptions<Spec, Status>,
): CrdDefinition<Spec, Status> {
  const { group, version, kind, isNamespaced = true, shortNames, categories, description, columns, scale } = options;
  const plural = options.plural ?? pluralOf(kind);
  const spec = readSource<Spec>(options.spec, 'spec');
  const status = options.status && readSource<Status>(options.status, 'status');
  const anything: StructuralSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = {
    type: 'object',
    ...(description !== undefined && { description }),
    required: ['spec'],
    properties: { spec: spec.structural, status: status?.structural ?? anything },
  };
  const names = {
    plural,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    ...(shortNames && { shortNames: [...shortNames] }),
    ...(categories && { categories: [...categories] }),
  };
  const faults = definitionFaults({
    group,
    version,
    names,
    schema: openAPIV3Schema as unknown as JsonObject,
    columns: columns ?? [],
    scale,
  });
  if (faults.length > 0) throw new ConfigError(`Cannot define "${kind}": ${faults.join('; ')}`);
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: isNamespaced ? 'Namespaced' : 'Cluster',
      names,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
          subresources: { status: {}, ...(scale && { scale }) },
          ...(columns && { additionalPrinterColumns: [...columns] }),
        },
      ],
    },
  };
  const resource = defineResource<Spec, Status>({
    group,
    version,
    plural,
    kind,
    isNamespaced,
    validate: spec.validate,
  });
  return Object.freeze({ crd: crd as unknown as CrdDefinition['crd'], resource });
}

type Source<T> = { readonly structural: StructuralSchema; readonly validate: StandardSchemaV1<unknown, T> };

/** The proposal of Standard Schema for those that give JSON Schema. */
type GivesJson = { jsonSchema?: { input(options: { target: string }): JsonSchema } };

function readSource<T>(source: SchemaSource<T>, place: string): Source<T> {
  if ('~standard' in source) {
    const validate = source as StandardSchemaV1<unknown, T>;
    const { jsonSchema } = validate['~standard'] as GivesJson;
    if (jsonSchema) return { structural: rooted(jsonSchema.input({ target: 'draft-2020-12' }), place), validate };
    const { vendor } = validate['~standard'];
    throw new ConfigError(
      `Cannot define a kind: the schema of ${place} (${vendor}) gives no JSON Schema; name both: { validate, jsonSchema }`,
    );
  }
  if ('jsonSchema' in source && 'validate' in source) {
    const { jsonSchema, validate } = source as { jsonSchema: JsonSchema; validate: StandardSchemaV1<unknown, T> };
    return { structural: rooted(jsonSchema, place), validate };
  }
  const structural = rooted(source as JsonSchema, place);
  return { structural, validate: schemaValidator<T>(structural) };
}

function rooted(schema: JsonSchema, place: string): StructuralSchema {
  const structural = fromJsonSchema(schema, place);
  if (structural.type === 'object') return structural;
  throw new ConfigError(`Cannot define a kind: the schema of ${place} describes no object`);
}

function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (/(s|x|z|ch|sh)$/.test(name)) return `${name}es`;
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
