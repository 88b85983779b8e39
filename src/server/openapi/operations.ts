/**
 * What can be done on the paths of a resource, apart from how a version of OpenAPI writes it down. kubectl reads three
 * things of it: the kind an operation is about, the query parameters of a patch, and the patches it takes.
 */
import type { JsonObject } from '../../api/index.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import { builtInTypes } from '../schema/built-in-types.ts';
import { customTypeName } from './custom-types.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type ParameterName = keyof typeof parameterTypes;

export type Operation = {
  readonly method: Method;
  /** `list`, `post`, `connect`, … */
  readonly action: string;
  readonly id: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly parameters: readonly ParameterName[];
  /** The name of the type it takes. */
  readonly body?: string;
  /** The name of the type it answers with; absent: text. */
  readonly answer?: string;
  readonly created?: boolean;
  /** Media types of the body, where it is a patch. */
  readonly patches?: readonly string[];
};

export type Path = {
  readonly path: string;
  /** Between braces in the path. */
  readonly variables: readonly string[];
  readonly operations: readonly Operation[];
};

export const parameterTypes = {
  allowWatchBookmarks: 'boolean',
  continue: 'string',
  dryRun: 'string',
  fieldManager: 'string',
  fieldSelector: 'string',
  fieldValidation: 'string',
  force: 'boolean',
  gracePeriodSeconds: 'integer',
  ignoreStoreReadErrorWithClusterBreakingPotential: 'boolean',
  labelSelector: 'string',
  limit: 'integer',
  name: 'string',
  namespace: 'string',
  orphanDependents: 'boolean',
  pretty: 'string',
  propagationPolicy: 'string',
  resourceVersion: 'string',
  resourceVersionMatch: 'string',
  sendInitialEvents: 'boolean',
  shardSelector: 'string',
  timeoutSeconds: 'integer',
  watch: 'boolean',
} as const;

const selection = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
] as const;
const listing: readonly ParameterName[] = ['allowWatchBookmarks', ...selection, 'watch'];
const writing: readonly ParameterName[] = ['dryRun', 'fieldManager', 'fieldValidation'];
const deleting: readonly ParameterName[] = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
];

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const customPatches = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];
const builtInPatches = [...customPatches, 'application/strategic-merge-patch+json'];

/** The end of every operation, in both versions: what it answers, and what it is about. */
export function answersOf({ action, kind, created }: Operation, answered: JsonObject): JsonObject {
  return {
    responses: {
      200: answered,
      ...(created && { 201: { ...answered, description: 'Created' } }),
      401: { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { ...kind },
  };
}

/** `/api/v1` or `/apis/G/V`. */
export function basePath({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** The name of the type behind a kind of this resource's group version. */
function typeNameOf(resource: Resource, kind: string): string | undefined {
  const { group, version } = resource;
  return resource.isCustom ? customTypeName(resource, kind) : builtInTypes().nameOf(group, version, kind);
}

export function pathsOf(resource: Resource): Path[] {
  const { plural, isNamespaced, verbs, subresources } = resource;
  const base = basePath(resource);
  const collection = isNamespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`;
  const variables = isNamespaced ? ['namespace'] : [];
  const onAll = isNamespaced && verbs.includes('list') ? [list(resource, 'ForAllNamespaces')] : [];
  const paths = [
    { path: `${base}/${plural}`, variables: [], operations: onAll },
    { path: collection, variables, operations: onCollection(resource) },
    { path: `${collection}/{name}`, variables: ['name', ...variables], operations: onObject(resource) },
    ...subresources.map((subresource) => ({
      path: `${collection}/{name}/${subresource.name}`,
      variables: ['name', ...variables],
      operations: onSubresource(resource, subresource),
    })),
  ];
  return paths.filter(({ operations }) => operations.length > 0);
}

function onCollection(resource: Resource): Operation[] {
  const { verbs, kind } = resource;
  const type = typeNameOf(resource, kind)!;
  return [
    ...(verbs.includes('list') ? [list(resource)] : []),
    ...(verbs.includes('create')
      ? [{ ...common(resource, 'post', 'create'), parameters: writing, body: type, answer: type, created: true }]
      : []),
    ...(verbs.includes('deletecollection') ? [deleteCollection(resource)] : []),
  ];
}

function list(resource: Resource, suffix = ''): Operation {
  const answer = typeNameOf(resource, resource.listKind)!;
  return { ...common(resource, 'get', 'list', suffix), action: 'list', parameters: listing, answer };
}

function deleteCollection(resource: Resource): Operation {
  const parameters = [...new Set([...deleting, ...selection])].sort();
  const operation = common(resource, 'delete', 'deleteCollection');
  return {
    ...operation,
    action: 'deletecollection',
    parameters,
    body: `${meta}.DeleteOptions`,
    answer: `${meta}.Status`,
  };
}

function onObject(resource: Resource): Operation[] {
  const type = typeNameOf(resource, resource.kind)!;
  const operations = byVerbs(resource, resource.verbs, type);
  if (!resource.verbs.includes('delete')) return operations;
  const body = `${meta}.DeleteOptions`;
  const remove = { ...common(resource, 'delete', 'delete'), parameters: deleting, body, answer: `${meta}.Status` };
  return [...operations, remove];
}

function onSubresource(resource: Resource, subresource: Subresource): Operation[] {
  const { name, kind, group = resource.group, version = resource.version, verbs } = subresource;
  const isOwnKind = group === resource.group && version === resource.version;
  const type = isOwnKind ? typeNameOf(resource, kind) : builtInTypes().nameOf(group, version, kind);
  const suffix = name.charAt(0).toUpperCase() + name.slice(1);
  if (type === undefined) return connect(resource, subresource, suffix);
  const operations = byVerbs(resource, verbs, type, suffix);
  if (verbs.includes('create'))
    operations.push({
      ...common(resource, 'post', 'create', suffix),
      parameters: writing,
      body: type,
      answer: type,
      created: true,
    });
  if (name === 'log') return operations.map(({ answer: _pod, ...operation }) => operation);
  return operations.map((operation) => ({ ...operation, kind: { group, version, kind } }));
}

/** Streams and proxies: every method, nothing to say about bodies. */
function connect(resource: Resource, { kind, verbs }: Subresource, suffix: string): Operation[] {
  const methods = { create: 'post', delete: 'delete', get: 'get', patch: 'patch', update: 'put' } as const;
  const { group, version } = resource;
  return Object.entries(methods)
    .filter(([verb]) => verbs.includes(verb))
    .map(([, method]) => ({
      ...common(resource, method, `connect${method.charAt(0).toUpperCase()}${method.slice(1)}`, suffix),
      action: 'connect',
      kind: { group, version, kind },
      parameters: [],
    }));
}

function byVerbs(resource: Resource, verbs: readonly string[], type: string, suffix = ''): Operation[] {
  const patches = resource.isCustom ? customPatches : builtInPatches;
  return [
    ...(verbs.includes('get') ? [{ ...common(resource, 'get', 'read', suffix), parameters: [], answer: type }] : []),
    ...(verbs.includes('update')
      ? [
          {
            ...common(resource, 'put', 'replace', suffix),
            parameters: writing,
            body: type,
            answer: type,
            created: true,
          },
        ]
      : []),
    ...(verbs.includes('patch')
      ? [
          {
            ...common(resource, 'patch', 'patch', suffix),
            parameters: [...writing, 'force'] as const,
            body: `${meta}.Patch`,
            answer: type,
            created: true,
            patches,
          },
        ]
      : []),
  ];
}

function common(resource: Resource, method: Method, verb: string, suffix = ''): Omit<Operation, 'parameters'> {
  const { group, version, kind, isNamespaced } = resource;
  const groupName =
    group === ''
      ? 'Core'
      : group
          .replace(/\.k8s\.io$/, '')
          .split('.')
          .map(capital)
          .join('');
  const scope = isNamespaced && suffix !== 'ForAllNamespaces' ? 'Namespaced' : '';
  const id = `${verb}${groupName}${capital(version)}${scope}${kind}${suffix}`;
  return { method, action: method, id, kind: { group, version, kind } };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
