/**
 * The door of the resource API: which resource a path means, whether it can be asked that, and who answers.
 */
import { badRequest, isStatusError, methodNotAllowed, resourceNotFound } from '../../api/index.ts';
import { kindTable } from '../registry/kind-table.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { handleGet, handleList } from './reading/read.ts';
import { handleWatch } from './reading/watch.ts';
import type { Rest } from './rest.ts';
import { handleBindings, handleSubresource, isBindings } from './subresources.ts';
import { handleVirtual, isVirtual } from './virtual-resources.ts';
import { handleDelete, handleDeleteCollection } from './writing/delete.ts';
import { handlePatch } from './writing/patch.ts';
import { handleCreate, handleUpdate } from './writing/write.ts';

type ResourceRequestInfo = Extract<RequestInfo, { kind: 'resource' }>;

/** False: nothing is served under this path, and nothing was answered. */
export function handleResource(rest: Rest, context: RequestContext): boolean | Promise<boolean> {
  const { requestInfo } = context;
  if (requestInfo.kind !== 'resource') return false;
  const { registry } = rest.storages;
  const resource = registry.find(requestInfo.group, requestInfo.version, requestInfo.resource);
  if (!resource) {
    // Of a group of our own it is the resource that is missing; of any other the path leads nowhere.
    if (registry.group(requestInfo.group) && !registry.group(requestInfo.group)!.isCustom) throw resourceNotFound();
    return false;
  }
  if ((requestInfo.rest.length > 0 && !leadsOn(resource, requestInfo)) || !fitsScope(resource, requestInfo)) {
    if (resource.isCustom) return false;
    throw resourceNotFound();
  }
  // Of custom kinds a HEAD is answered as a GET is; a stream without its body would be nothing.
  if (context.method === 'HEAD' && !resource.isCustom) throw methodNotAllowed();
  const isAcrossAll = resource.isNamespaced && requestInfo.namespace === '';
  if (resource.isCustom && isAcrossAll && !['list', 'watch'].includes(requestInfo.verb)) return false;
  if (context.method === 'HEAD' && requestInfo.verb === 'watch') throw methodNotAllowed('watch', resource);
  if (resource.custom?.deprecation) context.warn(resource.custom.deprecation);
  if (requestInfo.subresource !== '')
    return inLine(rest, context, requestInfo, handleSubresource(rest, context, resource, requestInfo)).then(isAnswered);
  const refused = (err: unknown) => {
    rest.noteRefusal(context, err);
    throw err;
  };
  try {
    const handling = handleObject(rest, context, resource, requestInfo);
    if (!(handling instanceof Promise)) return true;
    return inLine(rest, context, requestInfo, handling).then(isAnswered, refused);
  } catch (err) {
    return refused(err);
  }
}

/** Those who write one object at a time are told of their conflicts one after the other. */
function inLine(
  { conflicts }: Rest,
  context: RequestContext,
  { verb, group, resource, namespace, name }: ResourceRequestInfo,
  handling: Promise<void>,
): Promise<void> {
  if (!WRITES.has(verb)) return handling;
  const key = `${group}/${resource}/${namespace}/${name}`;
  return handling.then(
    () => conflicts.written(key),
    async (err: unknown) => {
      if (verb === 'update' && isStatusError(err, 'Conflict')) {
        context.initialised(); // there is nothing left to do but to wait: not with a seat
        await conflicts.turn(key);
      }
      throw err;
    },
  );
}

const WRITES: ReadonlySet<string> = new Set(['update', 'patch', 'delete']);

function isAnswered(): boolean {
  return true;
}

function handleObject(
  rest: Rest,
  context: RequestContext,
  resource: Resource,
  requestInfo: ResourceRequestInfo,
): void | Promise<void> {
  const { verb, namespace, name } = requestInfo;
  const isAllNamespaces = resource.isNamespaced && namespace === '';
  const isOnObject = name !== '';
  if (
    !(resource.verbs.includes(verb) || resource.untoldVerbs?.includes(verb)) ||
    (isAllNamespaces && (verb === 'create' || verb === 'deletecollection')) ||
    (verb === 'create' && isOnObject)
  )
    throw resource.isCustom ? methodNotAllowed(verb, resource) : methodNotAllowed();
  if (['update', 'patch'].includes(verb) && !isOnObject)
    throw resource.isCustom ? badRequest('name must be provided') : methodNotAllowed();
  const { deprecation } = kindTable[qualifiedName(resource)] ?? {};
  if (deprecation && !resource.isCustom) context.warn(deprecation);
  if (isVirtual(resource)) return handleVirtual(rest, context, resource, requestInfo);
  if (isBindings(resource)) return handleBindings(rest, context, resource, namespace);
  const storage = rest.storages.storageFor(resource);
  const place = { namespace, name, subresource: '' };
  switch (verb) {
    case 'get':
      return handleGet(context, storage, namespace, name);
    case 'list':
      return handleList(context, storage, namespace);
    case 'watch':
      return handleWatch(context, storage, namespace, rest.trackerFor(context), name);
    case 'create':
      return handleCreate(rest, context, storage, place);
    case 'update':
      return handleUpdate(rest, context, storage, place);
    case 'patch':
      return handlePatch(rest, context, storage, place);
    case 'delete':
      return handleDelete(rest, context, storage, place);
    case 'deletecollection':
      return handleDeleteCollection(rest, context, storage, place);
    default:
      throw methodNotAllowed();
  }
}

/** What comes after `proxy` is the business of whoever is asked. */
function leadsOn({ subresources }: Resource, { subresource }: ResourceRequestInfo): boolean {
  return subresource === 'proxy' && subresources.some(({ name }) => name === subresource);
}

/** A namespaced object is found in its namespace only, a cluster-wide one in none. */
function fitsScope({ isNamespaced }: Resource, { namespace, name }: ResourceRequestInfo): boolean {
  return isNamespaced ? namespace !== '' || name === '' : namespace === '';
}
