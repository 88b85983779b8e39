/** Every way to learn of an object: by name, in lists and pages, by watches, in every format. */

import type { Random } from '../support/random.ts';
import { anAccept, aScope, type Maker, marksOf, need, type Try } from './access-try.ts';
import { KINDS, pathOf } from './access-world.ts';

export const reads: readonly Maker[] = [
  ...[getObject, getPart, connect, getHistory, list, list, listPage, watch, watch, watchOne, getNamespace],
];

function getObject(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b', 'new']);
  // A watch is asked of collections: with a name, this is a get all the same.
  const query = random.chance(0.2) ? { watch: 'true' } : random.chance(0.2) ? { resourceVersion: '0' } : {};
  return {
    method: 'GET',
    path: `${pathOf(kind, namespace)}/${name}`,
    query,
    accept: anAccept(random, kind, false),
    needs: [need(kind, 'get', namespace, name)],
    codes: [name === 'new' ? 404 : 200],
    tells: marksOf(kind, namespace, is(name)),
  };
}

/** What an object was is told to who may get it: in its namespace, whatever namespace the history is asked for in. */
function getHistory(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b']);
  const plural = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  const asked = { group: 'introspection.longwatch.dev', plural: 'objecthistories' };
  const home = namespace === '' ? 'one' : namespace;
  const shown = `${plural}:${name}`;
  const right = {
    verb: 'get',
    group: asked.group,
    resource: asked.plural,
    subresource: '',
    namespace: home,
    name: shown,
  };
  return {
    method: 'GET',
    path: `/apis/${asked.group}/v1alpha1/namespaces/${home}/${asked.plural}/${shown}`,
    query: random.chance(0.3) ? { diff: '0,1' } : {},
    accept: random.pick(['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io']),
    needs: [right, need(kind, 'get', namespace, name)],
    codes: [200, 404, 410],
    tells: marksOf(kind, namespace, is(name)),
  };
}

function getPart(random: Random): Try {
  const kind = random.pick(KINDS.filter(({ parts }) => parts.length > 0));
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'new']);
  const part = random.pick(kind.parts);
  return {
    method: 'GET',
    path: `${pathOf(kind, namespace)}/${name}/${part}`,
    needs: [need(kind, 'get', namespace, name, part)],
    codes: [name === 'new' ? 404 : 200],
    tells: marksOf(kind, namespace, is(name)),
  };
}

/** What is asked of the containers of a Pod. Who connects to one must be allowed to create, whatever the method. */
function connect(random: Random): Try {
  const kind = KINDS.find(({ plural }) => plural === 'pods')!;
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'new']);
  const part = random.pick(['log', 'exec', 'attach', 'portforward']);
  const isPost = part !== 'log' && random.chance(0.5);
  const verbs = part === 'log' ? ['get'] : isPost ? ['create'] : ['get', 'create'];
  return {
    method: isPost ? 'POST' : 'GET',
    path: `${pathOf(kind, namespace)}/${name}/${part}`,
    query: { container: random.pick(['', 'none']) },
    needs: verbs.map((verb) => need(kind, verb, namespace, name, part)),
    // Nothing runs there: no logs, no container of that name, no node to connect to.
    codes: name === 'new' ? [404] : [204, 400],
    tells: [],
  };
}

/** What a selector of fields selects, and the name that whoever uses it counts as naming. */
type Selected = { readonly fieldSelector?: string; readonly name: string; readonly fits?: (name: string) => boolean };

const is = (name: string) => (other: string) => other === name;

export function aSelection(random: Random): Selected {
  return random.pick<Selected>([
    { name: '' },
    { name: '' },
    { fieldSelector: 'metadata.name=a', name: 'a', fits: is('a') },
    { fieldSelector: 'metadata.name==b', name: 'b', fits: is('b') },
    { fieldSelector: 'metadata.name!=a', name: '', fits: (name) => name !== 'a' },
    { fieldSelector: 'metadata.name=new', name: 'new', fits: is('new') },
  ]);
}

function aCollection(random: Random) {
  const kind = random.pick(KINDS);
  const namespace = random.chance(0.25) ? '' : aScope(random, kind);
  const { fieldSelector, name, fits } = aSelection(random);
  const query: Record<string, string> = fieldSelector === undefined ? {} : { fieldSelector };
  return { kind, namespace, name, query, tells: marksOf(kind, namespace, fits) };
}

function list(random: Random): Try {
  const { kind, namespace, name, query, tells } = aCollection(random);
  if (random.chance(0.2)) query.resourceVersion = '0';
  if (random.chance(0.2)) query.limit = '1';
  const needs = [need(kind, 'list', namespace, name)];
  const accept = anAccept(random, kind, true);
  return { method: 'GET', path: pathOf(kind, namespace), query, accept, needs, codes: [200], tells };
}

/** Goes on from anywhere: a token says where, and is believed only inside what the path names. */
function listPage(random: Random): Try {
  const { kind, namespace, query, tells, name } = aCollection(random);
  const start = random.pick(['a\0', 'one/a\0', 'two/a\0', 'on', '!']);
  query.limit = random.pick(['1', '500']);
  query.continue = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start })).toString('base64url');
  const needs = [need(kind, 'list', namespace, name)];
  const accept = anAccept(random, kind, true);
  return { method: 'GET', path: pathOf(kind, namespace), query, accept, needs, codes: [200], tells };
}

const WHOLE = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' };

function watch(random: Random): Try {
  const { kind, namespace, name, query, tells } = aCollection(random);
  const path = pathOf(kind, namespace);
  const isOld = random.chance(0.2);
  return {
    method: 'GET',
    path: isOld ? asWatchPath(path) : path,
    query: { ...query, ...WHOLE, ...(!isOld && { watch: random.pick(['1', 'true']) }) },
    isWatch: true,
    needs: [need(kind, 'watch', namespace, name)],
    codes: [200],
    tells,
  };
}

function watchOne(random: Random): Try {
  const kind = random.pick(KINDS);
  const namespace = aScope(random, kind);
  const name = random.pick(['a', 'b', 'new']);
  return {
    method: 'GET',
    path: asWatchPath(`${pathOf(kind, namespace)}/${name}`),
    query: WHOLE,
    isWatch: true,
    needs: [need(kind, 'watch', namespace, name)],
    codes: [200],
    tells: marksOf(kind, namespace, is(name)),
  };
}

function asWatchPath(path: string): string {
  return path.replace(/^(\/api\/v1|\/apis\/[^/]+\/v1)\//, '$1/watch/');
}

/** A namespace lies in itself, as far as rights go; the list of all lies in none. */
function getNamespace(random: Random): Try {
  const name = random.pick(['one', 'two', '']);
  const what = { group: '', resource: 'namespaces', subresource: '' };
  const namespaces = name === '' ? ['one', 'two', 'home'] : [name];
  return {
    method: 'GET',
    path: name === '' ? '/api/v1/namespaces' : `/api/v1/namespaces/${name}`,
    needs: [{ ...what, verb: name === '' ? 'list' : 'get', namespace: name, name }],
    codes: [200],
    tells: namespaces.map((one) => `<ruby namespaces - ${one}>`),
  };
}
