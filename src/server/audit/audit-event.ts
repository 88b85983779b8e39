/**
 * One request as the audit log shows it: an `audit.k8s.io/v1` Event of level Metadata, at the end of the answer.
 *
 * Always true: who, what, when, how it ended, and nothing that was sent or read: no body, no credential, no content. Of
 * the query only parameters that say what was asked for are shown, so that a secret put into a URL by mistake stays out.
 * A line has a bound in bytes, whatever a client sends: longer texts and lists are cut, and an annotation says so.
 */
import { attributesOf } from '../auth/authorizer.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { UserInfo } from '../request/user-info.ts';
import { BoundedText } from './bounded-text.ts';

export type Outcome = Parameters<RequestObserver['end']>[1];

const SHOWN_PARAMETERS = new Set([
  'allowWatchBookmarks',
  'dryRun',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'force',
  'labelSelector',
  'limit',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeout',
  'timeoutSeconds',
  'watch',
]);
export function auditEvent(
  context: RequestContext,
  { status, seconds }: Outcome,
  wasLetIn: boolean,
  nowMs: number,
): object {
  const { user, impersonator, method, path, requestInfo, headers, remoteAddress, auditId } = context;
  const attributes = attributesOf(method, path, requestInfo, () => context.query);
  const bounded = new BoundedText();
  const cut = (text: string) => bounded.cut(text);
  const event = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: auditId ?? '',
    stage: 'ResponseComplete',
    requestURI: cut(shownUri(context)),
    verb: cut(attributes.verb),
    user: shownUser(impersonator ?? user, bounded),
    ...(impersonator && { impersonatedUser: shownUser(user, bounded) }),
    ...(remoteAddress && { sourceIPs: [remoteAddress.replace(/^::ffff:/, '')] }),
    ...(headers['user-agent'] !== undefined && { userAgent: cut(headers['user-agent']) }),
    ...(requestInfo.kind === 'resource' && {
      objectRef: {
        resource: cut(requestInfo.resource),
        ...(attributes.kind === 'resource' && attributes.namespace && { namespace: cut(attributes.namespace) }),
        ...(attributes.kind === 'resource' && attributes.name && { name: cut(attributes.name) }),
        ...(requestInfo.group && { apiGroup: cut(requestInfo.group) }),
        apiVersion: cut(requestInfo.version),
        ...(requestInfo.subresource && { subresource: cut(requestInfo.subresource) }),
      },
    }),
    // 0: the client left before there was an answer.
    ...(status !== 0 && {
      responseStatus: { metadata: {}, ...(status >= 400 && { status: 'Failure' }), code: status },
    }),
    requestReceivedTimestamp: inMicroseconds(nowMs - seconds * 1000),
    stageTimestamp: inMicroseconds(nowMs),
  };
  const said = [...(context.auditAnnotations ?? [])].map(([key, value]) => [cut(key), cut(value)]);
  const annotations = {
    ...Object.fromEntries(said),
    'authorization.k8s.io/decision': wasLetIn ? 'allow' : 'forbid',
    ...(bounded.wasCut && { 'audit.k8s.io/truncated': 'true' }),
  };
  return { ...event, annotations };
}

/** Without parameters that may hold a secret. */
export function shownUri({ path, query }: RequestContext): string {
  const shown = new URLSearchParams();
  for (const [name, value] of query) if (SHOWN_PARAMETERS.has(name)) shown.append(name, value);
  return shown.size === 0 ? path : `${path}?${shown}`;
}

function shownUser({ username, uid, groups, extra }: UserInfo, bounded: BoundedText): object {
  return {
    ...(username && { username: bounded.cut(username) }),
    ...(uid && { uid: bounded.cut(uid) }),
    ...(groups.length > 0 && { groups: bounded.cutList(groups) }),
    ...(extra && { extra: bounded.cutLists(extra) }),
  };
}

function inMicroseconds(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
