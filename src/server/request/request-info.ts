/**
 * Reads what a request asks for out of its method, path and query: the one parse that the authoriser and the handlers
 * both go by, so that they cannot disagree.
 *
 * Segments are taken from the decoded path, as kube-apiserver does: `%2f` separates like `/`. Paths that no
 * object can have (empty segments, `.` and `..`, control characters) are no resource paths; they lead to a 404.
 */

import { booleanParameter } from './query-parameters.ts';

/** What the path and method of a request ask for. */
export type RequestInfo =
  | { readonly kind: 'other' }
  | {
      readonly kind: 'resource';
      readonly group: string;
      readonly version: string;
      /** Plural, as in the path. */
      readonly resource: string;
      readonly subresource: string;
      /** Empty for a namespace object itself: that is cluster-scoped. */
      readonly namespace: string;
      readonly name: string;
      /**
       * `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; empty for methods that the
       * API does not have (OPTIONS, ...): a 405 where the path leads somewhere. A HEAD asks for what a GET does, whether
       * or not it is answered.
       */
      readonly verb: string;
      /** Segments after the subresource. */
      readonly rest: readonly string[];
    };

const NOTHING: readonly string[] = [];
const OTHER: RequestInfo = { kind: 'other' };

/** What comes third in `namespaces/NS/...` and still belongs to the namespace itself. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

export function parseRequestInfo(method: string, path: string, query: () => URLSearchParams): RequestInfo {
  const segments = path.slice(1).split('/');
  if (segments.at(-1) === '') segments.pop(); // one slash at the end is accepted
  let at: number;
  let group = '';
  if (segments[0] === 'api') at = 1;
  else if (segments[0] === 'apis') {
    group = segments[1] ?? '';
    at = 2;
  } else return OTHER;
  const version = segments[at++];
  let rest = segments.slice(at);
  if (version === undefined || rest.length === 0 || CONTROL_CHARACTER.test(path)) return OTHER;
  for (const segment of segments) if (segment === '' || segment === '.' || segment === '..') return OTHER;

  const isWatchPath = rest[0] === 'watch';
  if (isWatchPath) {
    rest = rest.slice(1);
    if (rest.length === 0) return OTHER;
  }
  let namespace = '';
  if (rest[0] === 'namespaces' && rest.length > 2 && !NAMESPACE_SUBRESOURCES.has(rest[2]!)) {
    namespace = rest[1]!;
    rest = rest.slice(2);
  }
  const [resource = '', name = '', subresource = ''] = rest;
  const beyond = rest.length > 3 ? rest.slice(3) : NOTHING;
  const verb = isWatchPath && (method === 'GET' || method === 'HEAD') ? 'watch' : verbOf(method, name !== '', query);
  return {
    kind: 'resource',
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    verb,
    rest: beyond.length > 0 ? beyond : NOTHING,
  };
}

/** Answers go on until the client leaves or the time it named is over: no deadline, no seat among the requests. */
export function isLongRunning(requestInfo: RequestInfo): boolean {
  return requestInfo.kind === 'resource' && requestInfo.verb === 'watch';
}

/** Empty where the API has no verb for the method: a 405. */
function verbOf(method: string, isObject: boolean, query: () => URLSearchParams): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isObject) return 'get';
      return booleanParameter(query(), 'watch') ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return isObject ? 'delete' : 'deletecollection';
    default:
      return '';
  }
}
