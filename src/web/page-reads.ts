/**
 * What the page may read of a cluster through the credentials of this process: what it shows, and nothing else.
 *
 * Only paths that have one of the shapes below pass, with the query parameters that are named; nothing that writes, no
 * subresource (`exec`, `log`, `proxy`), no Secret. What is refused here never reaches the cluster.
 */
const GROUP = '/apis/introspection.longwatch.dev/v1alpha1';
const NAME = /^[a-z0-9][-a-z0-9.]{0,252}$/;
const RESOURCE = /^[a-z][a-z0-9]{0,62}$/;
const VERSION = /^v[0-9][a-z0-9]{0,15}$/;
/** Of an object history, as kubectl takes it: `deploy:web`. */
const KIND_AND_NAME = /^([A-Za-z0-9.-]{1,253}):[-A-Za-z0-9._:]{1,253}$/;

const EXACT = new Set([
  ...['/version', '/metrics', '/api', '/apis', GROUP],
  ...['watches', 'watchcaches', 'expirations', 'flowlevels'].map((resource) => `${GROUP}/${resource}`),
]);

const PARAMETERS = new Set([
  ...['watch', 'resourceVersion', 'resourceVersionMatch', 'allowWatchBookmarks', 'timeoutSeconds'],
  ...['limit', 'continue', 'labelSelector', 'fieldSelector', 'diff', 'revision'],
]);

export type PageRead = { readonly path: string; readonly query: Record<string, string>; readonly isWatch: boolean };

/** Undefined: the page has no business there. `path` is as it was sent, not decoded. */
export function pageRead(path: string, queryText: string): PageRead | undefined {
  if (!isReadable(path)) return undefined;
  const query: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(queryText)) {
    if (!PARAMETERS.has(name) || Object.hasOwn(query, name)) return undefined;
    query[name] = value;
  }
  return { path, query, isWatch: query.watch === 'true' || query.watch === '1' };
}

function isReadable(path: string): boolean {
  if (EXACT.has(path)) return true;
  const [start, root, ...parts] = path.split('/');
  if (start !== '') return false;
  const group = root === 'apis' ? parts.shift() : root === 'api' ? '' : undefined;
  const version = parts.shift() ?? '';
  if (group === undefined || (group !== '' && !NAME.test(group)) || !VERSION.test(version)) return false;
  if (parts.length >= 3 && (parts.shift() !== 'namespaces' || !NAME.test(parts.shift()!))) return false;
  const [resource = '', name] = parts;
  if (name === undefined) return parts.length === 1 && RESOURCE.test(resource) && !isSecret(resource);
  if (`/apis/${group}/${version}` !== GROUP || resource !== 'objecthistories' || parts.length !== 2) return false;
  const [, kind] = KIND_AND_NAME.exec(name) ?? [];
  return kind !== undefined && !isSecret(kind);
}

/** By any name that kubectl takes for them. */
function isSecret(name: string): boolean {
  return /^secrets?(?:\.|$)/i.test(name);
}
