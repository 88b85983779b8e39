/**
 * OpenAPI v2 (Swagger), one document for everything. Pure. What version 2 cannot say is left out: alternatives, nullable
 * values, and the fields of custom objects that keep unknown ones (old clients refuse what they do not find listed).
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { apiVersion } from '../discovery/version-info.ts';
import type { Resource } from '../registry/resource.ts';
import { mapSchema } from './map-schema.ts';
import { answersOf, type Operation, type Path, parameterTypes, pathsOf } from './operations.ts';
import { reachableTypes } from './reachable-types.ts';

export function swaggerDocument(resources: readonly Resource[]): JsonObject {
  const paths = resources.flatMap(pathsOf);
  const roots = new Set<string>();
  for (const { operations } of paths)
    for (const { body, answer } of operations) for (const name of [body, answer]) if (name) roots.add(name);
  const types = reachableTypes(roots, resources, withoutVersion3);
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version: apiVersion },
    paths: Object.fromEntries(paths.map((path) => [path.path, pathItem(path)])),
    definitions: Object.fromEntries([...types].map(([name, type]) => [name, mapSchema(type, toVersion2)])),
  };
}

function toVersion2(schema: JsonObject): JsonObject {
  const { $ref, oneOf } = schema;
  const rest = withoutVersion3(schema);
  if (typeof $ref === 'string') {
    const { description } = rest;
    return { ...(description !== undefined && { description }), $ref: `#/definitions/${$ref}` };
  }
  // Quantities, ports.
  return Array.isArray(oneOf) && rest.type === undefined ? { type: 'string', ...rest } : rest;
}

/**
 * Where null or unknown fields may stand, kubectl takes a type, fields or elements that are named for all there can be:
 * so none are. It cannot read a list without elements either, nor require what may be null.
 */
function withoutVersion3(schema: JsonObject): JsonObject {
  const { oneOf: _one, anyOf: _any, allOf: _all, not: _not, nullable, default: _default, ...rest } = schema;
  const isOpen = rest['x-kubernetes-preserve-unknown-fields'] === true;
  if (nullable === true || rest['x-kubernetes-int-or-string'] === true) delete rest.type;
  if (nullable === true || isOpen) {
    delete rest.items;
    delete rest.properties;
  }
  if (rest.type === 'array' && rest.items === undefined) delete rest.type;
  if (rest.type === 'object' && isOpen) delete rest.type;
  if (Array.isArray(rest.required)) {
    const required = isNullable(rest.additionalProperties)
      ? []
      : rest.required.filter((name) => !mayBeNull(rest, name));
    if (required.length > 0) rest.required = required;
    else delete rest.required;
  }
  return rest;
}

function mayBeNull({ properties }: JsonObject, field: JsonValue): boolean {
  return isNullable((properties as JsonObject | undefined)?.[field as string]);
}

function isNullable(schema: JsonValue | undefined): boolean {
  return (schema as JsonObject | undefined)?.nullable === true;
}

function pathItem({ variables, operations }: Path): JsonObject {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, describe(operation)])),
    parameters: [...variables.map(pathParameter), queryParameter('pretty')],
  };
}

function describe(operation: Operation): JsonObject {
  const { method, id, action, parameters, body, answer, patches } = operation;
  const answered = { description: 'OK', schema: answer === undefined ? { type: 'string' } : reference(answer) };
  const bodies = body
    ? [{ name: 'body', in: 'body', ...(method !== 'delete' && { required: true }), schema: reference(body) }]
    : [];
  return {
    operationId: id,
    consumes: patches ? [...patches] : ['*/*'],
    produces: ['application/json', ...(action === 'list' ? ['application/json;stream=watch'] : [])],
    schemes: ['https'],
    parameters: [...bodies, ...parameters.map(queryParameter)],
    ...answersOf(operation, answered),
  };
}

/** One object for all that share it: there are thousands of them in the document. */
const sharedParameters = new Map<string, JsonObject>();

function queryParameter(name: keyof typeof parameterTypes): JsonObject {
  return shared(`query ${name}`, { name, in: 'query', type: parameterTypes[name], uniqueItems: true });
}

function pathParameter(name: string): JsonObject {
  return shared(`path ${name}`, { name, in: 'path', required: true, type: 'string', uniqueItems: true });
}

function shared(key: string, parameter: JsonObject): JsonObject {
  if (!sharedParameters.has(key)) sharedParameters.set(key, parameter);
  return sharedParameters.get(key)!;
}

function reference(name: string): JsonObject {
  return { $ref: `#/definitions/${name}` };
}
