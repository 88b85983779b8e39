/**
 * The schema of a custom kind as a tree of nodes: what defaulting, list types, embedded objects and rules walk along.
 *
 * Read once per version and never changed. Only the structural part is here (what says where things are); what merely
 * constrains values (`anyOf`, bounds, patterns) is compiled from the same JSON in schema-checks.ts.
 */
import type { JsonObject, JsonValue } from '../../api/index.ts';
import { setKey } from '../../api/json-objects.ts';

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
  /** The properties that have a default. */
  readonly defaulted: readonly (readonly [name: string, node: Structural])[];
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
  readonly hasDefaults: boolean;
};

/** Most nodes have nothing below them: they share what they do not have. */
const noProperties: ReadonlyMap<string, Structural> = new Map();
const nothing: readonly never[] = [];

export function readStructural(source: JsonObject): Structural {
  const listType = text(source['x-kubernetes-list-type']);
  const isEmbedded = source['x-kubernetes-embedded-resource'] === true;
  const rules = (source['x-kubernetes-validations'] ?? nothing) as unknown as readonly RuleText[];
  let hasListTypes = listType === 'set' || listType === 'map';
  let hasEmbedded = isEmbedded;
  let hasRules = rules.length > 0;
  let hasDefaults = source.default !== undefined;
  const read = (json: JsonObject) => {
    const node = readStructural(json);
    hasListTypes ||= node.hasListTypes;
    hasEmbedded ||= node.hasEmbedded;
    hasRules ||= node.hasRules;
    hasDefaults ||= node.hasDefaults;
    return node;
  };
  const declared = asObject(source.properties);
  const properties = declared ? new Map<string, Structural>() : noProperties;
  let defaulted: (readonly [string, Structural])[] | undefined;
  for (const name of declared ? Object.keys(declared) : nothing) {
    const node = read(asObject(declared![name]) ?? {});
    (properties as Map<string, Structural>).set(name, node);
    if (node.default === undefined) continue;
    defaulted ??= [];
    defaulted.push([name, node]);
  }
  const [additionalJson, itemsJson] = [asObject(source.additionalProperties), asObject(source.items)];
  return {
    source,
    type: text(source.type),
    isNullable: source.nullable === true,
    isIntOrString: source['x-kubernetes-int-or-string'] === true,
    isEmbedded,
    keepsUnknown: source['x-kubernetes-preserve-unknown-fields'] === true,
    default: source.default,
    properties,
    defaulted: defaulted ?? nothing,
    additional: additionalJson && read(additionalJson),
    items: itemsJson && read(itemsJson),
    listType,
    listMapKeys: (source['x-kubernetes-list-map-keys'] ?? nothing) as readonly string[],
    rules,
    hasListTypes,
    hasEmbedded,
    hasRules,
    hasDefaults,
  };
}

/**
 * The same schema with the fields that every embedded object has, so that they are known to pruning. What the schema
 * itself says of them gives way: as in the root, they are the API's. What has none in it stays the very same object.
 */
export function withEmbeddedTypes(json: JsonObject, metadataType: string): JsonObject {
  const result: JsonObject = {};
  const properties = asObject(json.properties);
  const changed: JsonObject = {};
  for (const name of properties ? Object.keys(properties) : nothing) {
    const child = asObject(properties![name]);
    const next = child && withEmbeddedTypes(child, metadataType);
    if (next !== child) setKey(changed, name, next!);
  }
  if (Object.keys(changed).length > 0) result.properties = { ...properties, ...changed };
  for (const field of ['additionalProperties', 'items'] as const) {
    const child = asObject(json[field]);
    const next = child && withEmbeddedTypes(child, metadataType);
    if (next !== child) result[field] = next;
  }
  if (json['x-kubernetes-embedded-resource'] === true) {
    result.properties = {
      ...(asObject(result.properties) ?? properties),
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { $ref: metadataType },
    };
  }
  return Object.keys(result).length === 0 ? json : { ...json, ...result };
}

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
