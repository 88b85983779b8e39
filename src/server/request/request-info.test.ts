import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { booleanParameter, integerParameter } from './query-parameters.ts';
import { requestDeadlineMs } from './request-deadline.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { parseRequestUrl, type RequestUrl } from './request-url.ts';

const infoOf = (method: string, url: string): RequestInfo => {
  const { path, queryText } = parseRequestUrl(url) as RequestUrl;
  return parseRequestInfo(method, path, () => new URLSearchParams(queryText));
};
const EMPTY = { group: '', version: 'v1', subresource: '', namespace: '', name: '', rest: [] };

it.each<[string, string, Partial<Extract<RequestInfo, { kind: 'resource' }>>]>([
  ['GET', '/api/v1/pods', { resource: 'pods', verb: 'list' }],
  ['GET', '/api/v1/pods/', { resource: 'pods', verb: 'list' }],
  ['GET', '/api/v1/pods?watch=1', { resource: 'pods', verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=false0', { resource: 'pods', verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=FALSE', { resource: 'pods', verb: 'list' }],
  ['GET', '/api/v1/nodes/n1?watch=1', { resource: 'nodes', name: 'n1', verb: 'get' }],
  ['GET', '/api/v1/namespaces', { resource: 'namespaces', verb: 'list' }],
  ['GET', '/api/v1/namespaces/x', { resource: 'namespaces', name: 'x', verb: 'get' }],
  [
    'PUT',
    '/api/v1/namespaces/x/finalize',
    { resource: 'namespaces', name: 'x', subresource: 'finalize', verb: 'update' },
  ],
  ['GET', '/api/v1/namespaces/x/status', { resource: 'namespaces', name: 'x', subresource: 'status', verb: 'get' }],
  ['POST', '/api/v1/namespaces/x/pods', { resource: 'pods', namespace: 'x', verb: 'create' }],
  ['PATCH', '/api/v1/namespaces/x/pods/p', { resource: 'pods', namespace: 'x', name: 'p', verb: 'patch' }],
  ['DELETE', '/api/v1/namespaces/x/pods', { resource: 'pods', namespace: 'x', verb: 'deletecollection' }],
  ['DELETE', '/api/v1/namespaces/x/pods/p', { resource: 'pods', namespace: 'x', name: 'p', verb: 'delete' }],
  ['HEAD', '/api/v1/pods', { resource: 'pods', verb: 'list' }],
  ['HEAD', '/api/v1/pods?watch=1', { resource: 'pods', verb: 'watch' }],
  ['HEAD', '/api/v1/namespaces/ns/pods/a', { resource: 'pods', namespace: 'ns', name: 'a', verb: 'get' }],
  ['PURGE', '/api/v1/pods/p', { resource: 'pods', name: 'p', verb: '' }],
  [
    'GET',
    '/apis/apps/v1/namespaces/x/deployments/d/scale',
    { group: 'apps', resource: 'deployments', namespace: 'x', name: 'd', subresource: 'scale', verb: 'get' },
  ],
  ['GET', '/apis/none.example.com/v1/things', { group: 'none.example.com', resource: 'things', verb: 'list' }],
  ['GET', '/api/v1/watch/namespaces/x/pods', { resource: 'pods', namespace: 'x', verb: 'watch' }],
  ['GET', '/api/v1/watch/namespaces/x/pods/p', { resource: 'pods', namespace: 'x', name: 'p', verb: 'watch' }],
  ['GET', '/api/v1/watch/namespaces', { resource: 'namespaces', verb: 'watch' }],
  ['GET', '/api/v1/namespaces/x/pods/%61%20b', { resource: 'pods', namespace: 'x', name: 'a b', verb: 'get' }],
  [
    'GET',
    '/api/v1/namespaces/x/pods/a%2fb',
    { resource: 'pods', namespace: 'x', name: 'a', subresource: 'b', verb: 'get' },
  ],
  [
    'GET',
    '/api/v1/namespaces/x/pods/p/proxy/y/z',
    { resource: 'pods', namespace: 'x', name: 'p', subresource: 'proxy', verb: 'get', rest: ['y', 'z'] },
  ],
])('parseRequestInfo(%s %s)', (method, url, want) =>
  expect(infoOf(method, url)).toEqual({ kind: 'resource', ...EMPTY, ...want }),
);

it.each([
  '/',
  '/version',
  '/api',
  '/api/v1',
  '/api/v1/',
  '/apis/apps/v1',
  '/apis',
  '/api//v1/pods',
  '/api/v1/watch',
  '/api/v1/namespaces//pods',
  '/api/v1/pods/..',
  '/api/v1/pods/a%00',
  '/API/v1/pods',
])('parseRequestInfo() finds no resource in %s', (url) => expect(infoOf('GET', url)).toEqual({ kind: 'other' }));

it.each([
  ['/a?b=%zz', { path: '/a', queryText: 'b=%zz' }],
  ['http://x:1/a', { path: '/a', queryText: '' }],
  ['https://x', { path: '/', queryText: '' }],
  ['*', { status: 400, text: '400 Bad Request' }],
  ['', { status: 400, text: '400 Bad Request' }],
  ['/%zz', { status: 400, text: '400 Bad Request' }],
  ['/%ff', { status: 400, text: '400 Bad Request' }],
])('parseRequestUrl(%s)', (url, want) => expect(parseRequestUrl(url)).toEqual(want));

it('parseRequestUrl() bounds paths and the number of parameters', () => {
  const path = `/${'a'.repeat(16_383)}`;
  expect(parseRequestUrl(path)).toEqual({ path, queryText: '' });
  expect(parseRequestUrl(`${path}a`)).toEqual({ status: 414, text: '414 URI Too Long' });
  const query = 'a&'.repeat(9_999);
  expect(parseRequestUrl(`/?${query}`)).toEqual({ path: '/', queryText: query });
  const tooMany = { status: 400, text: '400 Bad Request: too many query parameters' };
  expect(parseRequestUrl(`/?${query}&`)).toEqual(tooMany);
});

it('reads parameters as kube-apiserver does', () => {
  const query = new URLSearchParams('a=&b=no&c=0&d=False&n=12&n=13&neg=-1&bad=abc&big=9223372036854775808&none=');
  expect(['a', 'b', 'c', 'd', 'x'].map((name) => booleanParameter(query, name))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(['n', 'neg', 'none', 'x'].map((name) => integerParameter(query, name))).toEqual([
    12,
    -1,
    undefined,
    undefined,
  ]);
  expect(() => integerParameter(query, 'bad')).toThrow('strconv.ParseInt: parsing "abc": invalid syntax');
  expect(() => integerParameter(query, 'big')).toThrow('parsing "9223372036854775808": value out of range');
});

it.each([
  ['-9223372036854775808', -(2 ** 63)],
  ['+9223372036854775807', 2 ** 63],
  [`-${'0'.repeat(300)}12`, -12],
  ['000', 0],
])('integerParameter() reads %s', (text, want) =>
  expect(integerParameter(new URLSearchParams({ n: text }), 'n')).toBe(want),
);

it.each<[what: string, read: (text: string) => unknown, make: (size: number) => string]>([
  ['a timeout of digits', (text) => requestDeadlineMs(new URLSearchParams({ timeout: text }), 1), digits],
  ['a timeout of points', (text) => requestDeadlineMs(new URLSearchParams({ timeout: text }), 1), points],
  ['an integer', (text) => integerParameter(new URLSearchParams({ n: text }), 'n'), digits],
  ['a boolean', (text) => booleanParameter(new URLSearchParams({ b: text }), 'b'), digits],
  ['a path', (text) => parseRequestUrl(`/${text}`), (size) => 'a/'.repeat(size / 2)],
  ['an origin', (text) => parseRequestUrl(`https://${text}`), digits],
  ['a query', (text) => parseRequestUrl(`/?${text}`), (size) => 'a&'.repeat(size / 2)],
])('%s takes time in proportion to its length', (what, read, make) =>
  expectLinear(what, {
    make,
    run: (text) => {
      try {
        read(text);
      } catch (err) {
        expect(err).toMatchObject({ code: 400 });
      }
    },
    from: 4096,
    limit: 1024 * 1024,
  }),
);

function digits(size: number): string {
  return '1'.repeat(size);
}

function points(size: number): string {
  return `1${'.'.repeat(size)}`;
}

it.each([
  ['', 60_000],
  ['timeout=', 60_000],
  ['timeout=0s', 60_000],
  ['timeout=5s', 5000],
  ['timeout=2m', 60_000],
])('requestDeadlineMs(%s)', (query, ms) => expect(requestDeadlineMs(new URLSearchParams(query), 60_000)).toBe(ms));

it.each([
  ['x', 'time: invalid duration "x"'],
  ['5', 'time: missing unit in duration "5"'],
  ['5d', 'time: unknown unit "d" in duration "5d"'],
])('requestDeadlineMs() refuses %s', (text, why) =>
  expect(() => requestDeadlineMs(new URLSearchParams({ timeout: text }), 1)).toThrow(why),
);
