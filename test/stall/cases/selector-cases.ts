/** Selectors over many objects, lists by page, and paths: what is asked of a collection. */
import { requestCase, type ServerTarget } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { repeated, times } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/many/configmaps';
/** In the namespace `many`. */
const MANY_OBJECTS = 2_000;
/** With room for the path below the limit of both. */
const LONGEST = 15 * 1024;
/** Almost a whole head: refused, and that must not take long either. */
const BEYOND = 900 * 1024;
const TABLE = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };

/** Objects for the cases to look through. */
export async function makeMany(target: ServerTarget): Promise<void> {
  await target.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'many' } } });
  const one = (i: number) => ({
    metadata: { name: `m${i}`, labels: { app: `a${i % 10}`, number: `${i}` } },
    data: { a: 'b' },
  });
  for (let from = 0; from < MANY_OBJECTS; from += 50)
    await Promise.all(times(50, (i) => target.must({ method: 'POST', path: MAPS, body: one(from + i) })));
}

function over(name: string, covers: string, query: (size: number) => string, limit: number = LONGEST) {
  const read = (way: string, more: string, headers?: Record<string, string>) =>
    requestCase(`${way} of ${MANY_OBJECTS} objects by ${name}`, [covers], limit, (size) => ({
      path: `${MAPS}?${more}${query(size)}`,
      ...(headers && { headers }),
      isStream: more !== '',
    }));
  return [read('a list', ''), read('a watch', 'watch=1&'), read('a table', '', TABLE)];
}

const labels = (text: (size: number) => string) => (size: number) => `labelSelector=${encodeURIComponent(text(size))}`;
const fields = (text: (size: number) => string) => (size: number) => `fieldSelector=${encodeURIComponent(text(size))}`;

export const selectorCases: readonly StallCase<ServerTarget>[] = [
  ...over(
    'many requirements that hold',
    'query:labelSelector',
    labels((size) => repeated((i) => `!x${i},`, size * 0.6).slice(0, -1)),
  ),
  ...over(
    'many inequalities',
    'query:labelSelector',
    labels((size) => repeated((i) => `app!=z${i},`, size * 0.5).slice(0, -1)),
  ),
  ...over(
    'one long set',
    'query:labelSelector',
    labels((size) => `app in (${repeated((i) => `v${i},`, size * 0.5)}a1)`),
  ),
  ...over(
    'many sets',
    'query:labelSelector',
    labels((size) => repeated((i) => `app notin (v${i},w),`, size * 0.5).slice(0, -1)),
  ),
  ...over(
    'many comparisons',
    'query:labelSelector',
    labels((size) => repeated(() => 'number>-1,', size * 0.5).slice(0, -1)),
  ),
  ...over(
    'many fields',
    'query:fieldSelector',
    fields((size) => repeated((i) => `metadata.name!=z${i},`, size * 0.5).slice(0, -1)),
  ),
  ...over(
    'one field again and again',
    'query:fieldSelector',
    fields((size) => repeated(() => 'metadata.name=m1,', size * 0.5).slice(0, -1)),
  ),
  requestCase('every page of a list', ['query:continue', 'query:limit'], MANY_OBJECTS, (size) => ({
    path: `${MAPS}?limit=${size}`,
  })),
  requestCase('a collection that is deleted by a long selector', ['query:labelSelector'], LONGEST, (size) => ({
    method: 'DELETE',
    path: `${MAPS}?${labels((length) => `nothing in (${repeated((i) => `v${i},`, length * 0.5)}z)`)(size)}`,
  })),
  requestCase('a watch from the beginning', ['query:watch', 'query:resourceVersion'], 4, (size) =>
    times(size, () => ({ path: `${MAPS}?watch=1&resourceVersion=0`, isStream: true })),
  ),
];

const path = (name: string, make: (size: number) => string, method = 'GET', limit = LONGEST) =>
  requestCase(`${method} with ${name}`, ['route:path'], limit, (size) => ({
    method,
    path: make(size),
    as: 'nobody',
  }));

/** Before anybody is known, and so without a credential. */
export const pathCases: readonly StallCase<ServerTarget>[] = [
  path('many segments', (size) => `/api/v1/${'a/'.repeat(size / 2)}`),
  path('many empty segments', (size) => '/'.repeat(size)),
  path('many dots', (size) => `/api/v1/${'../'.repeat(size / 3)}`),
  path('one long segment', (size) => `/api/v1/namespaces/${'a'.repeat(size)}`),
  path('one long name', (size) => `/api/v1/namespaces/many/configmaps/${'a'.repeat(size)}`),
  path('escapes', (size) => `/api/v1/${'%61'.repeat(size / 3)}`),
  path('escapes of slashes', (size) => `/api/v1/${'%2f'.repeat(size / 3)}`),
  path('broken escapes', (size) => `/api/v1/${'%zz'.repeat(size / 3)}`),
  path('escapes that are no UTF-8', (size) => `/api/v1/${'%ff'.repeat(size / 3)}`),
  path('control characters', (size) => `/api/v1/${'%00'.repeat(size / 3)}`),
  path('a long group', (size) => `/apis/${'a.'.repeat(size / 2)}/v1/things`),
  path('a long version', (size) => `/apis/apps/${'1'.repeat(size)}/things`),
  path('a long probe', (size) => `/healthz/${'a'.repeat(size)}`),
  path('a long document', (size) => `/openapi/v3/${'a/'.repeat(size / 2)}`),
  path('more segments than the limit', (size) => `/api/v1/${'a/'.repeat(size / 2)}`, 'GET', BEYOND),
  path('more escapes than the limit', (size) => `/api/v1/${'%61'.repeat(size / 3)}`, 'GET', BEYOND),
  path('a long address', (size) => `http://${'a'.repeat(size)}/version`),
  path('a long subresource', (size) => `/api/v1/namespaces/many/configmaps/a/${'b'.repeat(size)}`, 'PUT'),
  path('a body-less create', (size) => `/api/v1/namespaces/${'a'.repeat(size)}/configmaps`, 'POST'),
];

/** What the server says of itself; each has a document that is made for the first who asks after a change. */
export const routeCases: readonly StallCase<ServerTarget>[] = [
  '/',
  '/api',
  '/apis',
  '/api/v1',
  '/apis/apps/v1',
  '/version',
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
].map((route) =>
  requestCase(`GET ${route} many times`, [`route:${route}`], 8, (size) => times(size, () => ({ path: route }))),
);
