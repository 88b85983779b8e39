/**
 * Every query parameter the server reads, with where it is read. A parameter that the code reads and this table does not
 * name fails entry-points.test.ts. Each is played with every shape of text, once long and once repeated.
 */
import { requestCase, type ServerTarget, type StallRequest } from '../server-target.ts';
import type { StallCase } from '../stall-case.ts';
import { escaped, textShapes } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';
const LIST: StallRequest = { path: MAPS };
const WATCH: StallRequest = { path: `${MAPS}?watch=1`, isStream: true };
const GET: StallRequest = { path: `${MAPS}/none` };
const CREATE: StallRequest = {
  method: 'POST',
  path: MAPS,
  body: { metadata: { generateName: 'q-' }, unknown: 1 },
};
const PATCH: StallRequest = {
  method: 'PATCH',
  path: `${MAPS}/none`,
  type: 'application/apply-patch+yaml',
  body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"q"}}',
};
const DELETE: StallRequest = { method: 'DELETE', path: `${MAPS}/none` };
const HEALTH: StallRequest = { path: '/healthz', as: 'nobody' };

export const queryParameters: Readonly<Record<string, readonly StallRequest[]>> = {
  timeout: [{ path: '/version', as: 'nobody' }, CREATE],
  watch: [{ ...LIST, isStream: true }],
  timeoutSeconds: [LIST],
  limit: [LIST],
  continue: [{ path: `${MAPS}?limit=1` }],
  labelSelector: [{ path: `${MAPS}?limit=100` }, { ...LIST, as: 'weak' }],
  fieldSelector: [{ path: `${MAPS}?limit=100` }],
  resourceVersion: [LIST, GET],
  resourceVersionMatch: [LIST],
  sendInitialEvents: [LIST, WATCH],
  allowWatchBookmarks: [WATCH],
  includeObject: [{ ...LIST, headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' } }],
  includeRequestDetails: [{ path: '/debug/api_priority_and_fairness/dump_requests' }],
  pretty: [GET],
  export: [GET],
  dryRun: [CREATE, DELETE],
  fieldManager: [CREATE, PATCH],
  fieldValidation: [CREATE],
  force: [PATCH],
  propagationPolicy: [DELETE],
  orphanDependents: [DELETE],
  gracePeriodSeconds: [DELETE],
  exclude: [HEALTH],
  verbose: [HEALTH],
  hash: [{ path: '/openapi/v3/api/v1' }],
};

/** With room for the path below the limit of both. */
const LONGEST = 15 * 1024;
/** Almost a whole head: refused, and that must not take long either. */
const BEYOND = 900 * 1024;

export const queryCases: readonly StallCase<ServerTarget>[] = Object.entries(queryParameters).flatMap(([name, where]) =>
  where.flatMap((request) => [
    ...Object.entries(textShapes).map(([shape, make]) =>
      queryCase(name, request, shape, (size) => `${name}=${escaped(make)(size)}`),
    ),
    queryCase(name, request, 'repeated', (size) => `${name}=1&`.repeat(size / (name.length + 3))),
    queryCase(name, request, 'escapes', (size) => `${name}=${'%41'.repeat(size / 3)}`),
  ]),
);

export const otherQueryCases: readonly StallCase<ServerTarget>[] = [
  ...Object.entries(textShapes).map(([shape, make]) =>
    requestCase(`a query beyond the limit, of ${shape}`, ['query:*'], BEYOND, (size) => ({
      path: `/version?timeout=${escaped(make)(size)}`,
      as: 'nobody',
    })),
  ),
  requestCase('more parameters than the limit', ['query:*'], BEYOND, (size) => ({
    path: `${MAPS}?${'a&'.repeat(size / 2)}`,
  })),
  requestCase('many parameters that nobody reads', ['query:*'], LONGEST, (size) => ({
    path: `${MAPS}?limit=1&${'a&'.repeat(size / 2)}`,
  })),
  requestCase('broken escapes', ['query:*'], LONGEST, (size) => ({
    path: `${MAPS}?limit=1&a=${'%zz'.repeat(size / 3)}`,
  })),
];

function queryCase(name: string, request: StallRequest, shape: string, text: (size: number) => string) {
  const { method = 'GET', path } = request;
  const mark = path.includes('?') ? '&' : '?';
  return requestCase(`${method} ${path}: ${name} as ${shape}`, [`query:${name}`], LONGEST, (size) => ({
    ...request,
    path: `${path}${mark}${text(size)}`,
  }));
}
