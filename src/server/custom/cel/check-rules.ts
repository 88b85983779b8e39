import type { FieldError, JsonObject } from '../../../api/index.ts';
export function checkRules(_schema: JsonObject, _path: string): FieldError[] {
  return [];
}
