/**
 * The door of the resource API: which resource a path means, whether it can be asked that, and who answers.
 */
import { methodNotAllowed, resourceNotFound } from '../../api/index.ts';
import { kindTable } from '../registry/kind-table.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { Exchange } from '../request/request-context.ts';
import type { Target } from '../request/request-info.ts';
import { handleDelete, handleDeleteCollection } from './delete.ts';
import { handlePatch } from './patch.ts';
import { handleGet, handleList } from './read.ts';
import type { Rest } from './rest.ts';
import { handleBindings, handleSubresource, isBindings } from './subresources.ts';
import { handleVirtual, isVirtual } from './virtual-resources.ts';
import { handleWatch } from './watch.ts';
import { handleCreate, handleUpdate } from './write.ts';

type ResourceTarget = Extract<Target, { kind: 'resource' }>;

/** False: nothing is served under this path, and nothing was answered. */
export async function handleResource(rest: Rest, exchange: Exchange): Promise<boolean> {
  const { target } = exchange;
  if (target.kind !== 'resource') return false;
  const { registry } = rest.resources;
  const resource = registry.find(target.group, target.version, target.resource);
  if (!resource) {
    // Of a group of our own it is the resource that is missing; of any other the path leads nowhere.
    if (registry.group(target.group) && !registry.group(target.group)!.isCustom) throw resourceNotFound();
    return false;
  }
  if (target.rest.length > 0 || !fitsScope(resource, target)) {
    if (resource.isCustom) return false;
    throw resourceNotFound();
  }
  const isAcrossAll = resource.isNamespaced && target.namespace === '';
  if (resource.isCustom && isAcrossAll && !['list', 'watch'].includes(target.verb)) return false;
  if (resource.custom?.deprecation) exchange.warn(resource.custom.deprecation);
  if (target.subresource !== '') await handleSubresource(rest, exchange, resource, target);
  else await handleObject(rest, exchange, resource, target);
  return true;
}

async function handleObject(rest: Rest, exchange: Exchange, resource: Resource, target: ResourceTarget): Promise<void> {
  const { verb, namespace, name } = target;
  const isAllNamespaces = resource.isNamespaced && namespace === '';
  const isOnObject = name !== '';
  if (
    !resource.verbs.includes(verb) ||
    (isAllNamespaces && (verb === 'create' || verb === 'deletecollection')) ||
    (verb === 'create' && isOnObject)
  )
    throw resource.isCustom ? methodNotAllowed(verb, resource) : methodNotAllowed();
  if (['update', 'patch'].includes(verb) && !isOnObject) throw methodNotAllowed();
  const { deprecation } = kindTable[qualifiedName(resource)] ?? {};
  if (deprecation && !resource.isCustom) exchange.warn(deprecation);
  if (isVirtual(resource)) return handleVirtual(rest, exchange, resource, target);
  if (isBindings(resource)) return handleBindings(rest, exchange, namespace);
  const view = rest.resources.view(resource);
  const place = { namespace, name, subresource: '' };
  switch (verb) {
    case 'get':
      return handleGet(exchange, view, namespace, name);
    case 'list':
      return handleList(exchange, view, namespace);
    case 'watch':
      return handleWatch(exchange, view, namespace, rest.trackerFor(exchange), name);
    case 'create':
      return handleCreate(rest, exchange, view, place);
    case 'update':
      return handleUpdate(rest, exchange, view, place);
    case 'patch':
      return handlePatch(rest, exchange, view, place);
    case 'delete':
      return handleDelete(rest, exchange, view, place);
    case 'deletecollection':
      return handleDeleteCollection(rest, exchange, view, place);
    default:
      throw methodNotAllowed();
  }
}

/** A namespaced object is found in its namespace only, a cluster-wide one in none. */
function fitsScope({ isNamespaced }: Resource, { namespace, name }: ResourceTarget): boolean {
  return isNamespaced ? namespace !== '' || name === '' : namespace === '';
}
