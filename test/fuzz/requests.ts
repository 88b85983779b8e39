/** Requests: a resource, what to do with it, and queries and headers that fit or do not. */
import type { Resource } from '../../src/server/registry/resource.ts';
import { collectionPath } from '../support/schema-samples.ts';
import { queryParameters } from '../support/victim/query-parameters.ts';
import { requestHeaders } from '../support/victim/request-headers.ts';
import { type Body, someBody, somePatch } from './bodies.ts';
import type { Dice } from './dice.ts';
import { base64, type FuzzInput } from './fuzz-input.ts';
import { someObject, someResource } from './objects.ts';
import { damaged, oddText } from './odd-values.ts';

const NAMESPACES = ['fuzz', 'fuzz', 'fuzz', 'fuzz', 'default', 'none', ''];
const NAMES = ['a', 'b', 'c', 'd'];
const OTHER_PATHS = [
  ...['/', '/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1', '/version', '/healthz', '/livez/ping', '/readyz'],
  ...['/openapi/v3', '/openapi/v3/apis/apps/v1', '/openid/v1/jwks', '/.well-known/openid-configuration', '/metrics'],
  ...[
    '/api/v1/watch/pods',
    '/api/v1/namespaces/fuzz/watch/pods',
    '/logs',
    '/apis/none.example/v1/things',
    '//',
    '/api//v1/pods',
  ],
];

export function someRequest(dice: Dice): FuzzInput {
  if (dice.chance(0.06)) return request(dice, 'GET', dice.pick(OTHER_PATHS));
  const resource = someResource(dice);
  const collection = collectionPath(resource, dice.pick(NAMESPACES));
  const name = dice.pick(NAMES);
  const object = () => someObject(dice, resource, name);
  return dice.weighted<() => FuzzInput>([
    [6, () => request(dice, 'POST', collection, someBody(dice, object()))],
    [4, () => request(dice, 'PUT', `${collection}/${name}`, someBody(dice, object()))],
    [5, () => request(dice, 'PATCH', `${collection}/${name}`, somePatch(dice, object()))],
    [3, () => request(dice, 'GET', collection)],
    [2, () => request(dice, 'GET', `${collection}/${name}`)],
    [2, () => remove(dice, resource, collection, name)],
    [2, () => subresource(dice, resource, `${collection}/${name}`, name)],
  ])();
}

function remove(dice: Dice, { plural }: Resource, collection: string, name: string): FuzzInput {
  // Without its namespace the run would go on against nothing.
  if (plural === 'namespaces') return request(dice, 'GET', `${collection}/${name}`);
  const options = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: oddText(dice),
    dryRun: [oddText(dice)],
  };
  const path = dice.chance(0.2) ? collection : `${collection}/${name}`;
  return request(dice, 'DELETE', path, dice.chance(0.3) ? someBody(dice, options) : undefined);
}

const METHODS: Readonly<Record<string, string>> = { get: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH' };

function subresource(dice: Dice, resource: Resource, path: string, name: string): FuzzInput {
  if (resource.subresources.length === 0) return request(dice, 'GET', `${path}/${oddText(dice)}`);
  const { name: sub, verbs } = dice.pick(resource.subresources);
  const verb = dice.pick(verbs);
  const method = METHODS[verb] ?? 'GET';
  const object = someObject(dice, resource, name);
  const body = verb === 'patch' ? somePatch(dice, object) : method === 'GET' ? undefined : someBody(dice, object);
  return request(dice, method, `${path}/${sub}`, body);
}

function request(dice: Dice, method: string, path: string, body?: Body): FuzzInput {
  const query = someQuery(dice, method);
  const headers = someHeaders(dice);
  const oddPath = dice.chance(0.03) ? sendable(damaged(dice, Buffer.from(path)).toString('latin1')) : path;
  return {
    kind: 'request',
    method: dice.chance(0.01) ? dice.pick(['OPTIONS', 'HEAD', 'POST', 'PUT', 'DELETE']) : method,
    path: `${oddPath.startsWith('/') ? oddPath : `/${oddPath}`}${query}`,
    headers: { ...(body && body.type !== '' && { 'content-type': body.type }), ...headers },
    ...(body && { body: base64(body.bytes) }),
  };
}

const PARAMETERS = Object.keys(queryParameters);
const GOOD_VALUES: Readonly<Record<string, readonly string[]>> = {
  dryRun: ['All'],
  fieldValidation: ['Strict', 'Warn', 'Ignore'],
  fieldManager: ['a', 'b'],
  force: ['true'],
  limit: ['1', '2'],
  labelSelector: ['a=b', 'a in (b,c)', '!a', 'a!=b,c'],
  fieldSelector: ['metadata.name=a', 'metadata.name!=a', 'status.phase=Running'],
  resourceVersion: ['0', '1', '5'],
  resourceVersionMatch: ['Exact', 'NotOlderThan'],
  propagationPolicy: ['Orphan', 'Foreground', 'Background'],
  watch: ['0', 'false'],
};

function someQuery(dice: Dice, method: string): string {
  const parts = dice.times(dice.chance(0.3) ? 3 : 0, () => {
    const name = dice.pick(PARAMETERS);
    const value = dice.chance(0.5) ? dice.pick(GOOD_VALUES[name] ?? ['1']) : oddText(dice);
    return `${name}=${escapeText(value)}`;
  });
  // Streams take their time; a few are enough.
  if (method === 'GET' && dice.chance(0.01)) parts.push('watch=1', `timeoutSeconds=${dice.below(2)}`);
  else if (parts.some((part) => part.startsWith('watch'))) parts.push('watch=0');
  if (method !== 'GET' && dice.chance(0.4)) parts.push('dryRun=All');
  if (method === 'PATCH' && dice.chance(0.5)) parts.push('fieldManager=fuzz');
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

const ACCEPTS = [
  ...[
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    '*/*',
    'text/html',
    'application/*;q=0.1',
  ],
  ...['application/json;as=Table;g=meta.k8s.io;v=v1', 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'],
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
];
const HEADERS = Object.keys(requestHeaders).filter((name) => name !== 'content-length' && name !== 'host');

function someHeaders(dice: Dice): Record<string, string> {
  const headers: Record<string, string> = {};
  if (dice.chance(0.3)) headers.accept = dice.pick(ACCEPTS);
  if (dice.chance(0.08)) headers[dice.pick(HEADERS)] = sendable(oddText(dice));
  if (dice.chance(0.03)) headers['impersonate-user'] = sendable(oddText(dice)) || 'a';
  return headers;
}

/** Without what no client could put there. */
function sendable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '');
}

function escapeText(text: string): string {
  return Buffer.from(text).toString() === text ? encodeURIComponent(text) : '%ED%A0%80'; // half of a pair
}
