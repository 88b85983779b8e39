/**
 * The schema of the field that a path names: `.spec.color`, `.spec['a.b']`. Only fields, and values of maps, can be named;
 * where there is none, the answer says why, in the words of kube-apiserver.
 */
import type { JsonObject } from '../../api/index.ts';
import { ownValue } from '../../api/json-objects.ts';
import { asObject } from './structural.ts';

const NONE = 'does not refer to a valid field';
const END = 'unexpected end of JSON path';
// a text in single quotes, which may never end; a delimiter; what stands between two of those
const TOKEN = /'(?:\\[\s\S]|[^'\\])*(?:'|$)|[.[\]]|[^.[\]]+/g;
const ESCAPES = new Map(
  Object.entries({ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', "'": "'", '\\': '\\' }),
);

/** A text is why there is none. `allowsBrackets`: whether names may be written in them. */
export function schemaAt(schema: JsonObject, path: string, allowsBrackets = true): JsonObject | string {
  let found: JsonObject = schema;
  const tokens = path.match(TOKEN) ?? [];
  for (let at = 0; at < tokens.length; ) {
    const delimiter = tokens[at++]!;
    if (delimiter !== '.' && delimiter !== '[') return `expected [ or . but got: ${delimiter}`;
    if (delimiter === '[' && !allowsBrackets) return 'array notation is not allowed';
    const token = tokens[at++];
    if (token === undefined) return END;
    const name = delimiter === '.' ? token : unquoted(token);
    if (typeof name !== 'string') return name.why;
    const next = fieldOf(found, name);
    if (!next) return NONE;
    found = next;
    if (delimiter === '.') continue;
    const end = tokens[at++];
    if (end !== ']') return end === undefined ? END : `expected ] but got ${end}`;
  }
  return found;
}

/** Where fields are declared, no other name means anything. */
function fieldOf(schema: JsonObject, name: string): JsonObject | undefined {
  const properties = asObject(schema.properties);
  if (properties && Object.keys(properties).length > 0) return asObject(ownValue(properties, name));
  return asObject(schema.additionalProperties);
}

function unquoted(token: string): string | { readonly why: string } {
  if (token.length < 2 || !/^'[\s\S]*'$/.test(token)) return { why: `expected single quoted string but got ${token}` };
  let why: string | undefined;
  const text = token.slice(1, -1).replace(/\\(.)/g, (given, character: string) => {
    if (!ESCAPES.has(character)) why = `invalid string literal: invalid escape char ${given}`;
    return ESCAPES.get(character) ?? '';
  });
  return why === undefined ? text : { why };
}
