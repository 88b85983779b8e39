import { expect, it } from 'vitest';
import { pageRead } from './page-reads.ts';

const INSIDE = '/apis/introspection.longwatch.dev/v1alpha1';

it.each([
  ['/version', ''],
  ['/metrics', ''],
  ['/api', ''],
  [`${INSIDE}/watches`, ''],
  [`${INSIDE}/namespaces/default/objecthistories/deployments.apps:web`, 'diff=1,2'],
  ['/api/v1/pods', 'watch=true&resourceVersion=7&allowWatchBookmarks=true'],
  ['/api/v1/namespaces/shop/configmaps', 'limit=500'],
  ['/apis/apps/v1/namespaces/shop/deployments', 'labelSelector=app%3Dweb'],
  ['/apis/example.com/v1beta1/widgets', ''],
])('the page reads %s?%s', (path, query) => expect(pageRead(path, query)).toMatchObject({ path }));

it.each([
  ['a Secret', '/api/v1/secrets', ''],
  ['a Secret of a namespace', '/api/v1/namespaces/default/secrets', 'watch=1'],
  ['the history of a Secret', `${INSIDE}/namespaces/default/objecthistories/secrets:a`, ''],
  ['the history of a Secret by its kind', `${INSIDE}/namespaces/default/objecthistories/Secret:a`, ''],
  ['the history of a Secret by its version', `${INSIDE}/namespaces/default/objecthistories/secrets.v1.:a`, ''],
  ['a log', '/api/v1/namespaces/default/pods/a/log', ''],
  ['exec', '/api/v1/namespaces/default/pods/a/exec', 'command=sh'],
  ['a proxy', '/api/v1/namespaces/default/services/a/proxy/', ''],
  ['a node', '/api/v1/nodes/a/proxy/pods', ''],
  ['a dot segment', '/api/v1/namespaces/../secrets', ''],
  ['a dot segment that is encoded', '/api/v1/namespaces/%2e%2e/secrets', ''],
  ['a slash that is encoded', `${INSIDE}/namespaces/default/objecthistories/cm:a%2f..%2f..`, ''],
  ['another host', '//example.com/api', ''],
  ['profiles', '/debug/pprof/heap', ''],
  ['a token', '/api/v1/namespaces/default/serviceaccounts/a/token', ''],
  ['a parameter that it has no use for', '/api/v1/pods', 'dryRun=All'],
  ['a parameter twice', '/api/v1/pods', 'watch=1&watch=0'],
  ['nothing', '', ''],
])('the page does not read %s', (_claim, path, query) => expect(pageRead(path, query)).toBeUndefined());
