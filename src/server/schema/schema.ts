/**
 * A type of the API as data, the same for built-in and custom kinds: decoding, validation, defaulting, strategic
 * merge, server-side apply and OpenAPI all read this and nothing else.
 *
 * Resolved: `properties`, `items` and `additional` lead straight to other schemas, references are followed when they
 * are asked for (types may be recursive). What is said where a type is used (a default, a list type) is part of
 * the schema found there, so two fields of one named type may have two schemas.
 */
import type { JsonValue } from '../../api/json.ts';

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'any';

export interface Schema {
  /** The named type it stands for, e.g. `io.k8s.api.core.v1.Container`. */
  readonly name?: string;
  readonly type: SchemaType;
  /** `int32`, `int64`, `double`, `byte`, `date-time`, `int-or-string`, `quantity`, … */
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
  /** An integer or a string. */
  readonly intOrString?: boolean;
}
