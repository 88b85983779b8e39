/**
 * What a request is about, read from its path as API servers read it. Verb, resource and template come from short
 * lists, so they can be labels and names of spans, where the path itself cannot.
 */
import { resourceName } from '../objects/resource-name.ts';

export type RequestInfo = {
  /** As in the metrics of API servers: GET, LIST, WATCH, POST, PUT, PATCH, DELETE, DELETECOLLECTION. */
  readonly verb: string;
  /** `pods`, `deployments.apps`; empty if it is about no resource, such as `/version`. */
  readonly resource: string;
  readonly subresource: string;
  /** Undefined for all of them, and for what is cluster-wide. */
  readonly namespace: string | undefined;
  /** `/api/v1/namespaces/{namespace}/pods/{name}/log` */
  readonly template: string;
};

const otherPaths = new Set(['version', 'healthz', 'livez', 'readyz', 'metrics', 'openapi', 'logs', '.well-known']);
/** Not a resource within the namespace, but a part of the namespace itself. */
const ofNamespaces = new Set(['status', 'finalize']);
/** By their nature they hold what no log may show, or (`proxy`) what is not ours to show. */
const secretSegments = new Set(['secrets', 'tokenreviews', 'token', 'certificatesigningrequests', 'proxy']);

/** `path` is without the query, and without the prefix that some clusters live under. */
export function requestInfo(method: string, path: string, isStream: boolean): RequestInfo {
  const [root = '', ...parts] = segmentsOf(path);
  const group = root === 'apis' ? parts.shift() : '';
  const version = parts.shift();
  if ((root !== 'api' && root !== 'apis') || version === undefined || parts.length === 0)
    return { verb: method, resource: '', subresource: '', namespace: undefined, template: otherTemplate(path) };
  const [, within, third] = parts;
  const isWithin = parts[0] === 'namespaces' && third !== undefined && !ofNamespaces.has(third);
  const [plural = '', name, subresource = ''] = isWithin ? parts.slice(2) : parts;
  const resource = resourceName({ group: group ?? '', plural });
  return {
    verb: verbOf(method, name === undefined, isStream),
    resource,
    subresource,
    namespace: isWithin ? within : undefined,
    template: [
      group ? `/apis/${group}/${version}` : `/${root}/${version}`,
      ...(isWithin ? ['namespaces/{namespace}'] : []),
      plural,
      ...(name === undefined ? [] : ['{name}']),
      ...(subresource ? [subresource] : []),
    ].join('/'),
  };
}

/** Whether what is sent and answered there must not be shown. Too many rather than one too few. */
export function holdsSecrets(path: string): boolean {
  const end = path.indexOf('?');
  return segmentsOf(end < 0 ? path : path.slice(0, end)).some((segment) => secretSegments.has(segment));
}

function verbOf(method: string, isCollection: boolean, isStream: boolean): string {
  if (!isCollection) return method;
  if (method === 'GET') return isStream ? 'WATCH' : 'LIST';
  return method === 'DELETE' ? 'DELETECOLLECTION' : method;
}

function otherTemplate(path: string): string {
  const segments = segmentsOf(path);
  const [root = ''] = segments;
  if (root === 'api' || root === 'apis')
    return `/${[root, ...['{group}', '{version}'].slice(root === 'api' ? 1 : 0).slice(0, segments.length - 1)].join('/')}`;
  return otherPaths.has(root) ? `/${root}` : '/{path}';
}

function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // no server will take it either
  }
}
