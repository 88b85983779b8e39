/** Every way to store, change or remove an object, orders to its parts included; dry runs of them too. */

import type { Random } from '../support/random.ts';
import { aSelection } from './access-reads.ts';
import { aScope, JSON_TYPE, type Maker, marksOf, need, type Try } from './access-try.ts';
import { KINDS, type Kind, objectOf, pathOf } from './access-world.ts';

export const writes: readonly Maker[] = [
  ...[create, update, update, patch, apply, apply, apply, applyPart, patchPart, scale],
  ...[bind, bindByName, evict, makeToken, remove, removeCollection, changeNamespace],
];

const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const FIELD_MANAGER = { fieldManager: 'me' };

/** A try on an object, as a dry run now and then. */
function onObject(random: Random, kind: Kind, namespace: string, more: Omit<Try, 'tells'> & Partial<Try>): Try {
  const isDryRun = random.chance(0.2);
  const { query = {} } = more;
  return {
    tells: marksOf(kind, namespace),
    touches: { kind, namespace },
    ...more,
    ...(isDryRun ? { query: { ...query, dryRun: 'All' } } : { isWrite: true }),
  };
}

function create(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['new', 'new', 'a']);
  const body = objectOf(kind, namespace, name) as { metadata: { name?: string; generateName?: string } };
  if (name === 'new' && random.chance(0.3)) {
    delete body.metadata.name;
    body.metadata.generateName = 'some-';
  }
  return onObject(random, kind, namespace, {
    method: 'POST',
    path: pathOf(kind, namespace),
    body,
    needs: [need(kind, 'create', namespace, '')],
    codes: [name === 'a' ? 409 : 201],
  });
}

function update(random: Random): Try {
  const kind = random.chance(0.4) ? KINDS.find(({ plural }) => plural === 'leases')! : random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'new']);
  const makes = name === 'new' && kind.createsOnUpdate;
  return onObject(random, kind, namespace, {
    method: 'PUT',
    path: `${pathOf(kind, namespace)}/${name}`,
    body: objectOf(kind, namespace, name),
    needs: [need(kind, 'update', namespace, name), ...(makes ? [need(kind, 'create', namespace, name)] : [])],
    // Some kinds insist on a version, and some say first that it is not there.
    codes: makes ? [201] : name === 'new' ? [404] : [200, 422],
  });
}

function patch(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b', 'new']);
  const merge = { metadata: { annotations: { touched: `${random.below(1000)}` } } };
  const steps = [{ op: 'add', path: '/metadata/annotations/touched', value: `${random.below(1000)}` }];
  const strategic = 'application/strategic-merge-patch+json';
  const [contentType, body] = random.pick<[string, object]>([
    [MERGE, merge],
    ['application/json-patch+json', steps],
    ...(kind.isCustom ? [] : [[strategic, merge] as [string, object]]),
  ]);
  return onObject(random, kind, namespace, {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}`,
    contentType,
    body,
    needs: [need(kind, 'patch', namespace, name)],
    codes: [name === 'new' ? 404 : 200],
  });
}

function apply(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'new', 'new']);
  const isNew = name === 'new';
  return onObject(random, kind, namespace, {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}`,
    query: { ...FIELD_MANAGER, force: 'true' },
    contentType: APPLY,
    body: objectOf(kind, namespace, name),
    needs: [need(kind, 'patch', namespace, name), ...(isNew ? [need(kind, 'create', namespace, name)] : [])],
    codes: [isNew ? 201 : 200],
  });
}

function aPart(random: Random, ...wanted: string[]) {
  const kind = random.pick(KINDS.filter(({ parts }) => wanted.some((part) => parts.includes(part))));
  return { kind, namespace: aScope(random, kind), name: random.pick(['a', 'b', 'new']) };
}

/** Apply to a part makes nothing. */
function applyPart(random: Random): Try {
  const { kind, namespace, name } = aPart(random, 'status');
  const { apiVersion } = objectOf(kind, namespace, name) as { apiVersion: string };
  return onObject(random, kind, namespace, {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}/status`,
    query: { ...FIELD_MANAGER, force: 'true' },
    contentType: APPLY,
    body: { apiVersion, kind: kind.kind, metadata: { name, ...(namespace && { namespace }) } },
    needs: [need(kind, 'patch', namespace, name, 'status')],
    codes: [name === 'new' ? 404 : 200],
  });
}

function patchPart(random: Random): Try {
  const { kind, namespace, name } = aPart(random, 'status');
  return onObject(random, kind, namespace, {
    method: 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}/status`,
    contentType: MERGE,
    body: { metadata: { labels: { touched: `${random.below(1000)}` } } },
    needs: [need(kind, 'patch', namespace, name, 'status')],
    codes: [name === 'new' ? 404 : 200],
  });
}

function scale(random: Random): Try {
  const { kind, namespace, name } = aPart(random, 'scale');
  const isUpdate = random.chance(0.5);
  const spec = { replicas: random.below(5) };
  const metadata = { name, namespace };
  return onObject(random, kind, namespace, {
    method: isUpdate ? 'PUT' : 'PATCH',
    path: `${pathOf(kind, namespace)}/${name}/scale`,
    contentType: isUpdate ? JSON_TYPE : MERGE,
    body: isUpdate ? { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata, spec } : { spec },
    needs: [need(kind, isUpdate ? 'update' : 'patch', namespace, name, 'scale')],
    codes: [name === 'new' ? 404 : 200],
  });
}

const kindOf = (plural: string) => KINDS.find((kind) => kind.plural === plural)!;

/** An order to a part of an object, in the form of a create. */
function order(random: Random, plural: string, part: string, body: object): Try {
  const kind = kindOf(plural);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b', 'new']);
  return onObject(random, kind, namespace, {
    method: 'POST',
    path: `${pathOf(kind, namespace)}/${name}/${part}`,
    body: { metadata: { name }, ...body },
    needs: [need(kind, 'create', namespace, name, part)],
    codes: [name === 'new' ? 404 : 201],
  });
}

function bind(random: Random): Try {
  return order(random, 'pods', 'binding', { target: { kind: 'Node', name: 'a' } });
}

/** The old way: a binding on its own, which names its pod in its body. */
function bindByName(random: Random): Try {
  const kind = kindOf('pods');
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'new']);
  return onObject(random, kind, namespace, {
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/bindings`,
    body: { metadata: { name }, target: { kind: 'Node', name: 'a' } },
    needs: [{ verb: 'create', group: '', resource: 'bindings', subresource: '', namespace, name: '' }],
    codes: [name === 'new' ? 404 : 201],
  });
}

function evict(random: Random): Try {
  return order(random, 'pods', 'eviction', {});
}

function makeToken(random: Random): Try {
  return order(random, 'serviceaccounts', 'token', {});
}

function remove(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b', 'new']);
  return onObject(random, kind, namespace, {
    method: 'DELETE',
    path: `${pathOf(kind, namespace)}/${name}`,
    needs: [need(kind, 'delete', namespace, name)],
    codes: [name === 'new' ? 404 : 200],
  });
}

/** Unlike a list, it never counts as naming what it selects. */
function removeCollection(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const { fieldSelector, fits } = aSelection(random);
  return onObject(random, kind, namespace, {
    method: 'DELETE',
    path: pathOf(kind, namespace),
    query: fieldSelector === undefined ? {} : { fieldSelector },
    needs: [need(kind, 'deletecollection', namespace, '')],
    codes: [200],
    tells: marksOf(kind, namespace, fits),
  });
}

function changeNamespace(random: Random): Try {
  const name = random.pick(['one', 'two']);
  const part = random.pick(['', 'status']);
  return {
    method: 'PATCH',
    path: `/api/v1/namespaces/${name}${part && `/${part}`}`,
    contentType: MERGE,
    body: { metadata: { annotations: { touched: `${random.below(1000)}` } } },
    isWrite: true,
    needs: [{ verb: 'patch', group: '', resource: 'namespaces', subresource: part, namespace: name, name }],
    codes: [200],
    tells: [`<ruby namespaces - ${name}>`],
  };
}
