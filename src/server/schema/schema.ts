/**
 * A type of the API as data, the same for built-in and custom kinds: decoding, validation, defaulting, strategic
 * merge, server-side apply and OpenAPI all read this and nothing else.
 *
 * Resolved: `properties`, `items` and `additional` lead straight to other schemas, references are followed when they
 * are asked for (types may be recursive). What is said where a type is used (a default, a list type) is part of
 * the schema found there, so two fields of one named type may have two schemas.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'any';

export interface Schema {
  /** The named type it stands for, e.g. `io.k8s.api.core.v1.Container`. */
  readonly name?: string;
  readonly type: SchemaType;
  /**
   * `int32`, `int64`, `double`, `byte` (base64), `date-time`, `micro-time`, `duration`, `int-or-string`, `quantity` (a
   * string; in the input also a number), or whatever a custom kind says.
   */
  readonly format?: string;
  /** The fields of an object with known fields; absent for a map or a free-form object. */
  readonly properties?: ReadonlyMap<string, Schema>;
  /** The values of a map; `true`: any. */
  readonly additional?: Schema | true;
  /** The elements of an array. */
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly JsonValue[];
  readonly default?: JsonValue;
  readonly listType?: 'atomic' | 'set' | 'map';
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly patchStrategies?: readonly ('merge' | 'replace' | 'retainKeys')[];
  readonly patchMergeKey?: string;
  /** Fields that are not listed are kept as they are. */
  readonly preserveUnknownFields?: boolean;
  /** An integer or a string; `type` is `any`. */
  readonly intOrString?: boolean;
  /** Null is a value like others, not the absence of one. */
  readonly nullable?: boolean;
  /** A whole object of the API inside another: `apiVersion`, `kind` and `metadata` are known even if not listed. */
  readonly embeddedResource?: boolean;
  /** As it was written, for rules about values that have no field here: bounds, patterns, CEL, `oneOf`. */
  readonly source?: JsonObject;
}
