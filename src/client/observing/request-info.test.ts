import { expect, it } from 'vitest';
import { holdsSecrets, requestInfo } from './request-info.ts';

it.each<[method: string, path: string, isStream: boolean, want: string]>([
  ['GET', '/api/v1/pods', false, 'LIST pods /api/v1/pods'],
  ['GET', '/api/v1/pods', true, 'WATCH pods /api/v1/pods'],
  ['GET', '/api/v1/namespaces/n/pods/p', false, 'GET pods /api/v1/namespaces/{namespace}/pods/{name}'],
  ['GET', '/api/v1/namespaces/n/pods/p/log', true, 'GET pods/log /api/v1/namespaces/{namespace}/pods/{name}/log'],
  [
    'GET',
    '/api/v1/namespaces/n/pods/p/proxy/a/b',
    false,
    'GET pods/proxy /api/v1/namespaces/{namespace}/pods/{name}/proxy',
  ],
  ['POST', '/api/v1/namespaces/n/pods', false, 'POST pods /api/v1/namespaces/{namespace}/pods'],
  ['GET', '/api/v1/namespaces', false, 'LIST namespaces /api/v1/namespaces'],
  ['GET', '/api/v1/namespaces/n', false, 'GET namespaces /api/v1/namespaces/{name}'],
  ['PUT', '/api/v1/namespaces/n/finalize', false, 'PUT namespaces/finalize /api/v1/namespaces/{name}/finalize'],
  [
    'DELETE',
    '/apis/apps/v1/namespaces/n/deployments',
    false,
    'DELETECOLLECTION deployments.apps /apis/apps/v1/namespaces/{namespace}/deployments',
  ],
  ['PATCH', '/apis/ex.io/v1/crons/c/status', false, 'PATCH crons.ex.io/status /apis/ex.io/v1/crons/{name}/status'],
  ['GET', '/apis', false, 'GET  /apis'],
  ['GET', '/apis/ex.io/v1', false, 'GET  /apis/{group}/{version}'],
  ['GET', '/api/v1', false, 'GET  /api/{version}'],
  ['GET', '/version', false, 'GET  /version'],
  ['GET', '/openapi/v3/apis/apps/v1', false, 'GET  /openapi'],
  ['GET', '/whatever/1234', false, 'GET  /{path}'],
  ['GET', '/', false, 'GET  /{path}'],
])('%s %s (stream: %s) is %s', (method, path, isStream, want) => {
  const { verb, resource, subresource, template } = requestInfo(method, path, isStream);
  expect(`${verb} ${resource}${subresource && `/${subresource}`} ${template}`).toBe(want);
});

it.each<[path: string, want: boolean]>([
  ['/api/v1/secrets', true],
  ['/api/v1/secrets?limit=500', true],
  ['/api/v1/namespaces/n/secrets/s', true],
  ['/k8s/clusters/c/api/v1/secrets', true],
  ['/api/v1/namespaces/n/%73ecrets', true],
  ['/api/v1/namespaces/n/serviceaccounts/s/token', true],
  ['/apis/authentication.k8s.io/v1/tokenreviews', true],
  ['/api/v1/namespaces/n/configmaps?labelSelector=secrets', false],
  ['/api/v1/namespaces/n/configmaps/my-secrets', false],
  ['/api/v1/%', false],
])('%s holds secrets: %s', (path, want) => expect(holdsSecrets(path)).toBe(want));
