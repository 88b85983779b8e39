import type { FieldError, JsonObject } from '../../../api/index.ts';
import type { Structural } from '../structural.ts';
export type CompiledRules = { readonly check: (value: JsonObject, old: JsonObject | undefined) => FieldError[] };
export function compileRules(_node: Structural): CompiledRules | undefined {
  return undefined;
}
