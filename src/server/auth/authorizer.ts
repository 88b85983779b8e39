/**
 * Authorisation: the Authorizer, and the attributes of a request that it decides by. The handler chain asks it about
 * every request, and so do handlers that check a right of their own (impersonation, access reviews).
 *
 * Always true: what no rule allows is forbidden, and the refusal does not say whether the thing exists.
 */

import { forbiddenPath, forbiddenRequest, type StatusError } from '../../api/errors/status-error.ts';
import { checkPathSegment } from '../../api/scalars/names.ts';
import { parseFieldSelector } from '../../api/selectors/field-selector.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';

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

export type Decision = { readonly allowed: boolean; readonly reason?: string };

/** What a user may do, as far as it can be listed. */
export type UserRules = {
  readonly rules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  }[];
  /** Why the list may be too short. */
  readonly evaluationError?: string;
};

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision | Promise<Decision>;
  rulesFor(user: UserInfo, namespace: string): UserRules;
}

const ALLOWED: Decision = { allowed: true };
const DENIED: Decision = { allowed: false };
const ALL_RULES: UserRules = {
  rules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
};

/** Paths that answer without a credential. */
const PUBLIC_PATHS = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/']);

/** The rights every server has before any rule: `system:masters` may do all, everybody may look at health and version. */
export const mastersOnly: Authorizer = {
  authorize(user, attributes) {
    if (user.groups.includes('system:masters')) return ALLOWED;
    if (attributes.kind === 'path' && PUBLIC_PATHS.has(attributes.path) && attributes.verb === 'get') return ALLOWED;
    return DENIED;
  },
  rulesFor: ({ groups }) => (groups.includes('system:masters') ? ALL_RULES : { rules: [] }),
};

/** For `--authorization-mode AlwaysAllow`. Anonymous users included: it is for machines nobody else reaches. */
export const alwaysAllow: Authorizer = { authorize: () => ALLOWED, rulesFor: () => ALL_RULES };

/**
 * What a request asks the authoriser for. A list or watch that selects one object by its name counts as naming it, so
 * that a rule for that name allows it; a deletecollection never does.
 */
export function attributesOf(
  method: string,
  path: string,
  requestInfo: RequestInfo,
  query: () => URLSearchParams | undefined = () => undefined,
): Attributes {
  if (requestInfo.kind === 'other') return { kind: 'path', verb: VERB_OF_METHOD[method] ?? method.toLowerCase(), path };
  const { verb, group, version, resource, subresource } = requestInfo;
  const isSelecting = requestInfo.name === '' && READING_VERBS.has(verb);
  const name = isSelecting ? selectedName(query()?.get('fieldSelector') ?? '') : requestInfo.name;
  const namespace =
    requestInfo.namespace === '' && resource === 'namespaces' ? requestInfo.name : requestInfo.namespace;
  return { kind: 'resource', verb, group, version, resource, subresource, namespace, name };
}

export function forbiddenBy(user: UserInfo, attributes: Attributes, reason = ''): StatusError {
  const { username } = user;
  if (attributes.kind === 'path') return forbiddenPath(username, attributes.verb, attributes.path, reason);
  const { verb, group, resource: plural, subresource, namespace, name } = attributes;
  return forbiddenRequest({ username, verb, group, plural, subresource, namespace, name, why: reason });
}

const READING_VERBS = new Set(['list', 'watch']);

/** By the parser that the list goes by: whatever else is selected, only the object of this name can be meant. */
function selectedName(fieldSelector: string): string {
  if (!fieldSelector.includes('metadata.name')) return '';
  try {
    const name = parseFieldSelector(fieldSelector).pinned.get('metadata.name') ?? '';
    return checkPathSegment(name).length === 0 ? name : '';
  } catch {
    return ''; // the list will say what is wrong with it
  }
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
