/** Whatever can be reached has a case: a parameter, header, format, method or route that is added without one fails here. */
import { expect, it } from 'vitest';
import { startTestServer } from '../../src/testing/index.ts';
import { queryParameters } from '../support/victim/query-parameters.ts';
import { requestHeaders } from '../support/victim/request-headers.ts';
import { accessCases } from './cases/access-cases.ts';
import { bodyCases } from './cases/body-cases.ts';
import { clientCases } from './cases/client-cases.ts';
import { customCases } from './cases/custom-cases.ts';
import { etcdCases } from './cases/etcd-cases.ts';
import { headerCases, otherHeaderCases } from './cases/header-cases.ts';
import { kindCases } from './cases/kind-cases.ts';
import { patchCases } from './cases/patch-cases.ts';
import { protobufCases } from './cases/protobuf-cases.ts';
import { otherQueryCases, queryCases } from './cases/query-cases.ts';
import { pathCases, routeCases, selectorCases } from './cases/selector-cases.ts';
import { wireCases } from './cases/wire-cases.ts';
import { grpcMethodsServed, headersRead, mediaTypesNamed, queryParametersRead } from './source-reads.ts';

const serverCases = [
  ...[queryCases, otherQueryCases, headerCases, otherHeaderCases, pathCases, routeCases, selectorCases, wireCases],
  ...[bodyCases, protobufCases, patchCases, customCases, accessCases, etcdCases, kindCases(false)],
].flat();
const covered = new Set([...serverCases, ...clientCases].flatMap(({ covers }) => covers));

/** What is read of an answer of our own. */
const ANSWER_HEADERS = ['etag'];
/** In HTTP/2 the request line is headers; paths have cases of their own. */
const REQUEST_LINE = [':method', ':path', ':authority'];
/** Only ever written in answers, or the beginning of others. */
const ANSWER_TYPES = [
  ...['text/plain', 'application/*', 'application/apply-patch', 'application/jwk-set+json'],
  'application/octet-stream',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
];

it('has a case for every query parameter that the server reads', () => {
  const { names, unclear } = queryParametersRead('src/server');
  expect(unclear).toEqual([]);
  expect(Object.keys(queryParameters).sort()).toEqual([...names].sort());
});

it('has a case for every request header that the server reads', () => {
  const { names, unclear } = headersRead('src/server');
  const ours = [...names].filter((name) => ![...ANSWER_HEADERS, ...REQUEST_LINE].includes(name));
  expect(unclear).toEqual([]);
  expect(ours.filter((name) => !covered.has(`header:${name}`))).toEqual([]);
  expect(Object.keys(requestHeaders).filter((name) => !names.has(name))).toEqual([]);
});

it('has a case for every header of an answer that the client reads', () => {
  const { names, unclear } = headersRead('src/client');
  expect(unclear).toEqual([]);
  const read = [...names].filter((name) => !name.startsWith('impersonate-')); // those it writes
  expect(read.filter((name) => !covered.has(`client:header:${name}`))).toEqual([]);
});

it('has a case for every format of bodies and every kind of patch', () => {
  const { names } = mediaTypesNamed('src/server');
  const bodies = [...names].filter((name) => !ANSWER_TYPES.includes(name));
  expect(bodies.filter((name) => !covered.has(`body:${name}`) && !covered.has(`patch:${name}`))).toEqual([]);
});

it('has a case for every method of the etcd front', () => {
  const { names } = grpcMethodsServed('src/store/etcd-front');
  expect([...names].filter((name) => !covered.has(`grpc:${name}`))).toEqual([]);
});

it('has a case for every path that the server lists, and every resource that can be created', async () => {
  await using server = await startTestServer();
  const { paths } = JSON.parse((await server.client.ask('GET', '/')).body.toString('utf8')) as { paths: string[] };
  // Of each family of paths one: the documents of a group are made as those of any other, a check is asked as any other.
  const families = new Set(paths.map(familyOf));
  expect([...families].filter((path) => !covered.has(`route:${path}`))).toEqual([]);
});

function familyOf(path: string): string {
  const [, first = '', second, third] = path.split('/');
  if (first === 'apis') return third ? '/apis/apps/v1' : '/apis';
  if (first === 'openapi' && second === 'v3') return third ? '/openapi/v3/api/v1' : '/openapi/v3';
  if (['healthz', 'livez', 'readyz'].includes(first)) return `/${first}`;
  return path;
}
