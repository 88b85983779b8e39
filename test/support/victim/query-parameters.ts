/**
 * Every query parameter the server reads, with requests in which it is read. A parameter that the code reads and this
 * table does not name fails test/stall/entry-points.test.ts.
 */
import type { StallRequest } from './server-target.ts';

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
const LOG: StallRequest = { path: '/api/v1/namespaces/stall/pods/none/log' };
const EXEC: StallRequest = { path: '/api/v1/namespaces/stall/pods/none/exec' };
const FORWARD: StallRequest = { path: '/api/v1/namespaces/stall/pods/none/portforward' };
const HISTORY: StallRequest = {
  path: '/apis/introspection.longwatch.dev/v1alpha1/namespaces/stall/objecthistories/configmaps:none',
};
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
  diff: [HISTORY],
  revision: [HISTORY],
  pretty: [GET],
  export: [GET],
  dryRun: [CREATE, DELETE],
  fieldManager: [CREATE, PATCH],
  fieldValidation: [CREATE],
  force: [PATCH],
  propagationPolicy: [DELETE],
  orphanDependents: [DELETE],
  gracePeriodSeconds: [DELETE],
  container: [LOG, EXEC],
  previous: [LOG],
  timestamps: [LOG],
  tailLines: [LOG],
  limitBytes: [LOG],
  sinceSeconds: [LOG],
  sinceTime: [LOG],
  stream: [LOG],
  stdin: [EXEC],
  tty: [EXEC],
  command: [EXEC],
  ports: [FORWARD],
  exclude: [HEALTH],
  verbose: [HEALTH],
  hash: [{ path: '/openapi/v3/api/v1' }],
};
