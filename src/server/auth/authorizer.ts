/**
 * Who may do what. An Authorizer is asked about every request before a handler sees it, and by handlers that check a
 * right of their own (impersonation, access reviews).
 *
 * Always true: what no rule allows is forbidden, and the refusal does not say whether the thing exists.
 */
import { forbiddenPath, forbiddenRequest, type StatusError } from '../../api/status-error.ts';
import type { Target, UserInfo } from '../http/exchange.ts';

export type Attributes =
  | {
      readonly kind: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly version: string;
      readonly resource: string;
      readonly subresource: string;
      /** Empty: cluster scope. A namespace object counts as lying in itself, as RBAC has it. */
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string };

type Decision = { readonly allowed: boolean; readonly reason?: string };

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision | Promise<Decision>;
}

const ALLOWED: Decision = { allowed: true };
const DENIED: Decision = { allowed: false };

/** Paths that answer without a credential. */
const PUBLIC_PATHS = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/']);

/** The rights every server has before any rule: `system:masters` may do all, everybody may look at health and version. */
export const mastersOnly: Authorizer = {
  authorize(user, attributes) {
    if (user.groups.includes('system:masters')) return ALLOWED;
    if (attributes.kind === 'path' && PUBLIC_PATHS.has(attributes.path) && attributes.verb === 'get') return ALLOWED;
    return DENIED;
  },
};

/** For `--authorization-mode AlwaysAllow`. Anonymous users included: it is for machines nobody else reaches. */
export const alwaysAllow: Authorizer = { authorize: () => ALLOWED };

/** What a request asks the authoriser for. */
export function attributesOf(method: string, path: string, target: Target): Attributes {
  if (target.kind === 'other') return { kind: 'path', verb: VERB_OF_METHOD[method] ?? method.toLowerCase(), path };
  const { verb, group, version, resource, subresource, name } = target;
  const namespace = target.namespace === '' && resource === 'namespaces' ? name : target.namespace;
  const isHead = verb === '' && method === 'HEAD';
  return { kind: 'resource', verb: isHead ? 'get' : verb, group, version, resource, subresource, namespace, name };
}

export function forbiddenBy(user: UserInfo, attributes: Attributes, reason = ''): StatusError {
  const { username } = user;
  if (attributes.kind === 'path') return forbiddenPath(username, attributes.verb, attributes.path, reason);
  const { verb, group, resource: plural, subresource, namespace, name } = attributes;
  return forbiddenRequest({ username, verb, group, plural, subresource, namespace, name, why: reason });
}

const VERB_OF_METHOD: Record<string, string> = {
  GET: 'get',
  HEAD: 'head',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
  OPTIONS: 'options',
};
