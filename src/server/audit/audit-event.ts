/**
 * One request as the audit log shows it: an `audit.k8s.io/v1` Event of level Metadata, at the end of the answer.
 *
 * Always true: who, what, when, how it ended, and nothing that was sent or read: no body, no credential, no content. Of
 * the query only parameters that say what was asked for are shown, so that a secret put into a URL by mistake stays out.
 */
import { attributesOf } from '../auth/authorizer.ts';
import type { Exchange, UserInfo } from '../http/exchange.ts';
import type { RequestObserver } from '../http/request-observer.ts';

export type Outcome = Parameters<RequestObserver['end']>[2];

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
/** Of names and headers that clients choose; longer ones are cut. */
const MAX_TEXT = 1024;

export function auditEvent(exchange: Exchange, { status, seconds }: Outcome, wasLetIn: boolean, nowMs: number): object {
  const { user, impersonator, method, path, target, headers, remoteAddress, auditId } = exchange;
  const attributes = attributesOf(method, path, target, () => exchange.query);
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: auditId ?? '',
    stage: 'ResponseComplete',
    requestURI: cut(path + shownQuery(exchange.query)),
    verb: attributes.verb,
    user: shownUser(impersonator ?? user),
    ...(impersonator && { impersonatedUser: shownUser(user) }),
    ...(remoteAddress && { sourceIPs: [remoteAddress.replace(/^::ffff:/, '')] }),
    ...(headers['user-agent'] !== undefined && { userAgent: cut(headers['user-agent']) }),
    ...(target.kind === 'resource' && {
      objectRef: {
        resource: cut(target.resource),
        ...(attributes.kind === 'resource' && attributes.namespace && { namespace: cut(attributes.namespace) }),
        ...(attributes.kind === 'resource' && attributes.name && { name: cut(attributes.name) }),
        ...(target.group && { apiGroup: cut(target.group) }),
        apiVersion: cut(target.version),
        ...(target.subresource && { subresource: cut(target.subresource) }),
      },
    }),
    // 0: the client left before there was an answer.
    ...(status !== 0 && {
      responseStatus: { metadata: {}, ...(status >= 400 && { status: 'Failure' }), code: status },
    }),
    requestReceivedTimestamp: inMicroseconds(nowMs - seconds * 1000),
    stageTimestamp: inMicroseconds(nowMs),
    annotations: { 'authorization.k8s.io/decision': wasLetIn ? 'allow' : 'forbid' },
  };
}

function shownQuery(query: URLSearchParams): string {
  const shown = new URLSearchParams();
  for (const [name, value] of query) if (SHOWN_PARAMETERS.has(name)) shown.append(name, value);
  return shown.size === 0 ? '' : `?${shown}`;
}

function shownUser({ username, uid, groups, extra }: UserInfo): object {
  return {
    ...(username && { username }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra && { extra }),
  };
}

function inMicroseconds(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
}
