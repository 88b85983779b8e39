/**
 * OpenAPI v3 into Schema, for built-in types and for a custom kind's `openAPIV3Schema` alike.
 *
 * Always true: nothing is followed before it is asked for, so recursive types cost what is used of them; what was
 * followed once is kept. A reference to a type that `resolve` does not know becomes a schema that takes anything: an
 * incomplete schema must not refuse objects.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import type { Schema, SchemaType } from './schema.ts';

export type FromOpenApiOptions = {
  /** The type a `$ref` names. */
  readonly resolve?: (name: string) => Schema | undefined;
  /** The name of the type itself. */
  readonly name?: string;
};

export function schemaFromOpenApi(
  json: JsonObject,
  { resolve = () => undefined, name }: FromOpenApiOptions = {},
): Schema {
  const reference = referenceOf(json);
  const base = reference === undefined ? undefined : (resolve(reference) ?? takesAnything);
  if (base && !saysMoreThanReference(json)) return base;
  // A node has every field, some undefined: all schemas share one shape in memory, which is what makes walking fast.
  return new SchemaNode(json, name, base, resolve) as Schema;
}

/** What the API document does not tell about a type, but its readers must know. */
const wellKnownTypes: Readonly<
  Record<string, Pick<Schema, 'format' | 'preserveUnknownFields'> & { type?: SchemaType }>
> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: 'string', format: 'quantity' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': { format: 'micro-time' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Duration': { type: 'string', format: 'duration' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': { preserveUnknownFields: true },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Patch': { preserveUnknownFields: true },
  'io.k8s.apimachinery.pkg.runtime.RawExtension': { preserveUnknownFields: true },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': { preserveUnknownFields: true },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray': { preserveUnknownFields: true },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool': { preserveUnknownFields: true },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray': {
    preserveUnknownFields: true,
  },
};

class SchemaNode {
  readonly name: string | undefined;
  readonly type: SchemaType;
  readonly format: string | undefined;
  readonly required: readonly string[] | undefined;
  readonly enum: readonly JsonValue[] | undefined;
  readonly default: JsonValue | undefined;
  readonly listType: Schema['listType'] | undefined;
  readonly listMapKeys: readonly string[] | undefined;
  readonly mapType: Schema['mapType'] | undefined;
  readonly patchStrategies: Schema['patchStrategies'] | undefined;
  readonly patchMergeKey: string | undefined;
  readonly preserveUnknownFields: boolean | undefined;
  readonly intOrString: boolean | undefined;
  readonly nullable: boolean | undefined;
  readonly embeddedResource: boolean | undefined;
  readonly source: JsonObject;
  readonly #resolve: (name: string) => Schema | undefined;
  readonly #base: Schema | undefined;
  #properties: ReadonlyMap<string, Schema> | undefined;
  #additional: Schema | undefined;
  #items: Schema | undefined;

  constructor(
    json: JsonObject,
    name: string | undefined,
    base: Schema | undefined,
    resolve: (name: string) => Schema | undefined,
  ) {
    const known = name === undefined ? undefined : wellKnownTypes[name];
    this.source = json;
    this.#base = base;
    this.#resolve = resolve;
    this.name = name ?? base?.name;
    this.intOrString = isIntOrString(json) || base?.intOrString;
    this.type = known?.type ?? base?.type ?? typeOf(json);
    this.format =
      known?.format ?? text(json.format) ?? base?.format ?? (this.intOrString ? 'int-or-string' : undefined);
    this.required = texts(json.required) ?? base?.required;
    this.enum = Array.isArray(json.enum) ? json.enum : base?.enum;
    this.default = json.default ?? base?.default;
    this.listType = (text(json['x-kubernetes-list-type']) as Schema['listType']) ?? base?.listType;
    this.listMapKeys = texts(json['x-kubernetes-list-map-keys']) ?? base?.listMapKeys;
    this.mapType = (text(json['x-kubernetes-map-type']) as Schema['mapType']) ?? base?.mapType;
    this.patchStrategies = strategies(json['x-kubernetes-patch-strategy']) ?? base?.patchStrategies;
    this.patchMergeKey = text(json['x-kubernetes-patch-merge-key']) ?? base?.patchMergeKey;
    this.preserveUnknownFields =
      known?.preserveUnknownFields ?? flag(json['x-kubernetes-preserve-unknown-fields']) ?? base?.preserveUnknownFields;
    this.nullable = flag(json.nullable) ?? base?.nullable;
    this.embeddedResource = flag(json['x-kubernetes-embedded-resource']) ?? base?.embeddedResource;
  }

  get properties(): ReadonlyMap<string, Schema> | undefined {
    if (this.#properties || !isObject(this.source.properties)) return this.#properties ?? this.#base?.properties;
    const entries = Object.entries(this.source.properties).map(([name, json]) => [name, this.#child(json)] as const);
    this.#properties = new Map(entries);
    return this.#properties;
  }

  get additional(): Schema | true | undefined {
    const json = this.source.additionalProperties;
    if (json === true) return true;
    if (!isObject(json)) return this.#base?.additional;
    this.#additional ??= this.#child(json);
    return this.#additional;
  }

  get items(): Schema | undefined {
    if (!isObject(this.source.items)) return this.#base?.items;
    this.#items ??= this.#child(this.source.items);
    return this.#items;
  }

  #child(json: JsonValue | undefined): Schema {
    return isObject(json) ? schemaFromOpenApi(json, { resolve: this.#resolve }) : takesAnything;
  }
}

const takesAnything: Schema = { type: 'any', preserveUnknownFields: true };
const schemaTypes: ReadonlySet<string> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

/** The name behind `$ref`, alone or as the only part of an `allOf` (which OpenAPI needs to say anything beside it). */
function referenceOf({ $ref, allOf }: JsonObject): string | undefined {
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  const [only, ...others] = Array.isArray(allOf) ? allOf : [];
  if (!isObject(only) || others.length > 0 || typeof only.$ref !== 'string') return undefined;
  return referenceOf(only);
}

function saysMoreThanReference(json: JsonObject): boolean {
  return Object.keys(json).some((key) => key !== '$ref' && key !== 'allOf' && key !== 'description');
}

function typeOf(json: JsonObject): SchemaType {
  const { type } = json;
  if (typeof type === 'string' && schemaTypes.has(type)) return type as SchemaType;
  if (isObject(json.properties) || isObject(json.additionalProperties)) return 'object';
  return isObject(json.items) ? 'array' : 'any';
}

function isIntOrString(json: JsonObject): true | undefined {
  return json['x-kubernetes-int-or-string'] === true || json.format === 'int-or-string' ? true : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function texts(value: JsonValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

function flag(value: JsonValue | undefined): true | undefined {
  return value === true ? true : undefined;
}

function strategies(value: JsonValue | undefined): Schema['patchStrategies'] | undefined {
  return text(value)?.split(',') as Schema['patchStrategies'] | undefined;
}
