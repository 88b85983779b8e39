/**
 * OpenAPI v3, one document per group version, and small ones for the paths above them. Pure. What the documents hold
 * is what clients use: every operation of every resource with its kind and parameters, and the types these lead to.
 *
 * Clients keep a document for a year under its hash, and the hash is made of what goes in, not of what comes out: raise
 * `documentForm` with every change of this folder that changes a document.
 */
import type { JsonObject } from '../../api/json.ts';
import { apiVersion } from '../discovery/version-info.ts';
import type { Resource } from '../registry/resource.ts';
import { mapSchema } from './map-schema.ts';
import { answersOf, basePath, type Operation, type Path, parameterTypes, pathsOf } from './operations.ts';
import { reachableTypes } from './reachable-types.ts';

export const documentForm = 4;

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const text = { type: 'string' };
const objects = { type: 'array', items: { type: 'object' } };
const indexTypes = {
  APIVersions: fields({ kind: text, versions: { type: 'array', items: text }, serverAddressByClientCIDRs: objects }),
  APIGroupList: fields({ apiVersion: text, kind: text, groups: objects }),
  APIGroup: fields({
    apiVersion: text,
    kind: text,
    name: text,
    preferredVersion: { type: 'object' },
    versions: objects,
  }),
};

/** The document of one group version. */
export function groupVersionDocument(resources: readonly Resource[]): JsonObject {
  const index = `${basePath(resources[0]!)}/`;
  const paths: [string, JsonObject][] = [];
  const roots = new Set<string>();
  if (!resources.every(({ isCustom }) => isCustom)) {
    paths.push([index, readOnly(`${meta}.APIResourceList`)]);
    roots.add(`${meta}.APIResourceList`);
  }
  for (const path of resources.flatMap(pathsOf)) {
    paths.push([path.path, pathItem(path)]);
    for (const { body, answer } of path.operations) for (const name of [body, answer]) if (name) roots.add(name);
  }
  return document(paths, reachableTypes(roots, resources));
}

/** The document of a path that only tells what there is: `/api/`, `/apis/`, `/apis/G/`. */
export function indexDocument(path: string, type: 'APIVersions' | 'APIGroupList' | 'APIGroup'): JsonObject {
  const name = `${meta}.${type}`;
  return document([[path, readOnly(name)]], new Map([[name, indexTypes[type]]]));
}

/** The document of `/version/`, whose fields are all text. */
export function versionDocument(names: readonly string[]): JsonObject {
  const name = 'io.k8s.apimachinery.pkg.version.Info';
  const type = fields(Object.fromEntries(names.map((field) => [field, { type: 'string', default: '' }])));
  return document([['/version/', readOnly(name)]], new Map([[name, { ...type, required: [...names] }]]));
}

function document(paths: [string, JsonObject][], types: Map<string, JsonObject>): JsonObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: apiVersion },
    paths: Object.fromEntries(paths),
    components: {
      schemas: Object.fromEntries([...types].map(([name, type]) => [name, mapSchema(type, pointToComponents)])),
    },
  };
}

/** Version 3.0 ignores whatever stands beside a `$ref`; inside an `allOf` it may have company. */
function pointToComponents({ $ref, ...rest }: JsonObject): JsonObject {
  if (typeof $ref !== 'string') return rest;
  const reference = { $ref: `#/components/schemas/${$ref}` };
  return Object.keys(rest).length === 0 ? reference : { ...rest, allOf: [reference] };
}

function pathItem({ variables, operations }: Path): JsonObject {
  const inPath = variables.map((name) => ({ name, in: 'path', required: true, schema: parameterSchema('string') }));
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, describe(operation)])),
    parameters: [...inPath, queryParameter('pretty')],
  };
}

function describe(operation: Operation): JsonObject {
  const { id, parameters, body, answer, patches = ['application/json'] } = operation;
  const answered: JsonObject = {
    description: 'OK',
    content:
      answer === undefined ? { 'text/plain': { schema: { type: 'string' } } } : content(answerTypes(operation), answer),
  };
  return {
    operationId: id,
    ...(parameters.length > 0 && { parameters: parameters.map(queryParameter) }),
    ...(body && {
      requestBody: { ...(!isOptional(operation) && { required: true }), content: content(patches, body) },
    }),
    ...answersOf(operation, answered),
  };
}

/** Delete options may be left out. */
function isOptional({ method }: Operation): boolean {
  return method === 'delete';
}

function answerTypes({ action }: Operation): string[] {
  return action === 'list' ? ['application/json', 'application/json;stream=watch'] : ['application/json'];
}

function content(mediaTypes: readonly string[], name: string): JsonObject {
  const schema = { $ref: `#/components/schemas/${name}` };
  return Object.fromEntries(mediaTypes.map((type) => [type, { schema }]));
}

function queryParameter(name: keyof typeof parameterTypes): JsonObject {
  return { name, in: 'query', schema: parameterSchema(parameterTypes[name]) };
}

function parameterSchema(type: string): JsonObject {
  return { type, uniqueItems: true };
}

function readOnly(name: string): JsonObject {
  const answered = { description: 'OK', content: content(['application/json'], name) };
  return { get: { responses: { 200: answered, 401: { description: 'Unauthorized' } } } };
}

function fields(properties: JsonObject): JsonObject {
  return { type: 'object', properties };
}
