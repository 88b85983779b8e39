/**
 * Every request header the server reads, with requests in which it is read. A header that the code reads and this table
 * does not name fails test/stall/entry-points.test.ts.
 */
import type { StallRequest } from './server-target.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';
const VERSION: StallRequest = { path: '/version', as: 'nobody' };
const LIST: StallRequest = { path: `${MAPS}?limit=1` };
const GET: StallRequest = { path: `${MAPS}/none` };
const CREATE: StallRequest = { method: 'POST', path: `${MAPS}?dryRun=All`, body: { metadata: { name: 'h' } } };
const PATCH: StallRequest = { method: 'PATCH', path: `${MAPS}/none`, body: '{}' };

export const requestHeaders: Readonly<Record<string, readonly StallRequest[]>> = {
  accept: [LIST, GET, { path: '/api', as: 'nobody' }, { path: '/openapi/v2' }, { ...LIST, as: 'weak' }],
  'accept-encoding': [{ path: '/apis' }],
  'audit-id': [VERSION],
  authorization: [{ path: '/version' }],
  connection: [{ path: '/api/v1/namespaces/stall/pods/none/exec' }],
  cookie: [{ path: '/ui/page.json', as: 'nobody' }],
  'content-type': [CREATE, PATCH, { method: 'DELETE', path: `${MAPS}/none`, body: '{}' }],
  host: [{ path: '/api' }],
  'if-none-match': [{ path: '/openapi/v3' }],
  'impersonate-user': [LIST],
  'impersonate-group': [{ ...LIST, headers: { 'impersonate-user': 'somebody' } }],
  'impersonate-uid': [{ ...LIST, headers: { 'impersonate-user': 'somebody' } }],
  'impersonate-extra-': [{ ...LIST, headers: { 'impersonate-user': 'somebody' } }],
  'user-agent': [CREATE, GET],
  // Read only to be passed on to the server behind an APIService, in one piece.
  'x-forwarded-for': [GET],
  'x-longwatch-page': [{ path: '/ui/page.json', as: 'nobody', headers: { cookie: 'longwatch-ui=a' } }],
  'longwatch-history': [{ path: `${MAPS}?watch=1&resourceVersion=1`, isStream: true }],
};
