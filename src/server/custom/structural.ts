/**
 * The schema of a custom kind as a tree of nodes: what defaulting, list types, embedded objects and rules walk along.
 *
 * Read once per version and never changed. Only the structural part is here (what says where things are); what merely
 * constrains values (`anyOf`, bounds, patterns) is compiled from the same JSON in schema-checks.ts.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';

/** One rule of `x-kubernetes-validations`, as it is written. */
export type RuleText = {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
};

export type Structural = {
  readonly source: JsonObject;
  readonly type: string;
  readonly isNullable: boolean;
  readonly isIntOrString: boolean;
  readonly isEmbedded: boolean;
  readonly keepsUnknown: boolean;
  readonly default: JsonValue | undefined;
  readonly properties: ReadonlyMap<string, Structural>;
  /** The values of a map. */
  readonly additional: Structural | undefined;
  readonly items: Structural | undefined;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  readonly rules: readonly RuleText[];
  /** Whether this node or one below it holds what the name says: whole branches can be left out of a walk. */
  readonly hasListTypes: boolean;
  readonly hasEmbedded: boolean;
  readonly hasRules: boolean;
};

export function readStructural(source: JsonObject): Structural {
  const properties = new Map<string, Structural>();
  for (const [name, json] of Object.entries(asObject(source.properties) ?? {}))
    properties.set(name, readStructural(asObject(json) ?? {}));
  const additionalJson = asObject(source.additionalProperties);
  const additional = additionalJson && readStructural(additionalJson);
  const itemsJson = asObject(source.items);
  const items = itemsJson && readStructural(itemsJson);
  const below = [...properties.values(), ...(additional ? [additional] : []), ...(items ? [items] : [])];
  const listType = text(source['x-kubernetes-list-type']);
  const isEmbedded = source['x-kubernetes-embedded-resource'] === true;
  const rules = (source['x-kubernetes-validations'] ?? []) as unknown as readonly RuleText[];
  return {
    source,
    type: text(source.type),
    isNullable: source.nullable === true,
    isIntOrString: source['x-kubernetes-int-or-string'] === true,
    isEmbedded,
    keepsUnknown: source['x-kubernetes-preserve-unknown-fields'] === true,
    default: source.default,
    properties,
    additional,
    items,
    listType,
    listMapKeys: (source['x-kubernetes-list-map-keys'] ?? []) as string[],
    rules,
    hasListTypes: listType === 'set' || listType === 'map' || below.some((node) => node.hasListTypes),
    hasEmbedded: isEmbedded || below.some((node) => node.hasEmbedded),
    hasRules: rules.length > 0 || below.some((node) => node.hasRules),
  };
}

/**
 * The same schema with the fields that every embedded object has, so that they are known to pruning. What the schema
 * itself says of them gives way: as in the root, they are the API's.
 */
export function withEmbeddedTypes(json: JsonObject, metadataType: string): JsonObject {
  const result: JsonObject = { ...json };
  const properties = asObject(json.properties);
  if (properties) {
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, withEmbeddedTypes(asObject(child) ?? {}, metadataType)]),
    );
  }
  const [additional, items] = [asObject(json.additionalProperties), asObject(json.items)];
  if (additional) result.additionalProperties = withEmbeddedTypes(additional, metadataType);
  if (items) result.items = withEmbeddedTypes(items, metadataType);
  if (json['x-kubernetes-embedded-resource'] === true) {
    result.properties = {
      ...asObject(result.properties),
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { $ref: metadataType },
    };
  }
  return result;
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
