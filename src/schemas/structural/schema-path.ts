/**
 * The schema of the field that a path names: `.spec.color`, `.spec['a.b']`. Only fields, and values of maps, can be named;
 * where there is none, the answer says why.
 */
import type { JsonObject } from '../../api/index.ts';
import { ownValue } from '../../api/json-objects.ts';
import { asObject } from './structural.ts';

const NONE = 'does not refer to a valid field';
// a name after a dot, or one in brackets and quotes
const STEP = /^(?:\.([^.[\]'"]+)|\['([^']*)'\])/;

/** A text is why there is none. */
export function schemaAt(schema: JsonObject, path: string): JsonObject | string {
  let found: JsonObject = schema;
  for (let rest = path; rest !== ''; ) {
    const step = STEP.exec(rest);
    if (!step) return /^[.[]/.test(rest) ? NONE : `expected [ or . but got: ${/^\w+|^./.exec(rest)?.[0] ?? rest}`;
    const next =
      asObject(ownValue(asObject(found.properties) ?? {}, step[1] ?? step[2]!)) ?? asObject(found.additionalProperties);
    if (!next) return NONE;
    found = next;
    rest = rest.slice(step[0].length);
  }
  return found;
}
