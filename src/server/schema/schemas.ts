/**
 * The types of the built-in kinds by name and by kind, as Schema. Built when first asked for and kept; one per process
 * is enough, for nothing in it changes.
 */
import type { JsonObject } from '../../api/json.ts';
import { type BuiltInTypes, builtInTypes } from './built-in-types.ts';
import { schemaFromOpenApi } from './from-openapi.ts';
import type { Schema } from './schema.ts';

export const objectMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

export class Schemas {
  readonly #types: BuiltInTypes;
  readonly #byName = new Map<string, Schema>();

  constructor(types: BuiltInTypes = builtInTypes()) {
    this.#types = types;
  }

  byName(name: string): Schema | undefined {
    const known = this.#byName.get(name);
    if (known) return known;
    const json = this.#types.openApi(name);
    if (!json) return undefined;
    const schema = schemaFromOpenApi(json, { name, resolve: (other) => this.byName(other) });
    this.#byName.set(name, schema);
    return schema;
  }

  byKind(group: string, version: string, kind: string): Schema | undefined {
    const name = this.#types.nameOf(group, version, kind);
    return name === undefined ? undefined : this.byName(name);
  }

  /**
   * The type of a custom kind from its CRD's `openAPIV3Schema`: `apiVersion`, `kind` and `metadata` are the API's,
   * whatever the schema says of them.
   */
  custom(openApiV3Schema: JsonObject): Schema {
    const properties = { ...(openApiV3Schema.properties as JsonObject | undefined) };
    properties.apiVersion = { type: 'string' };
    properties.kind = { type: 'string' };
    properties.metadata = { $ref: objectMetaName };
    return schemaFromOpenApi({ ...openApiV3Schema, properties }, { resolve: (name) => this.byName(name) });
  }
}

let shared: Schemas | undefined;

export function builtInSchemas(): Schemas {
  shared ??= new Schemas();
  return shared;
}
