/**
 * Resources that are asked, not stored: reviews of who one is and what one may do. A create is a question, and its
 * answer is the object with a status.
 */
import {
  badRequest,
  invalid,
  invalidValue,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
} from '../../api/index.ts';
import type { Attributes } from '../auth/authorizer.ts';
import { decodeBody } from '../codec/index.ts';
import type { Exchange, Target, UserInfo } from '../http/exchange.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import { sendJson } from './answer.ts';
import { negotiate, plainFormat } from './negotiation.ts';
import { nowInSeconds, type Rest } from './rest.ts';
import { writeOptions } from './write-options.ts';

type Answer = (rest: Rest, exchange: Exchange, object: KubeObject) => JsonObject | Promise<JsonObject>;

const answers: Readonly<Record<string, Answer>> = {
  'selfsubjectreviews.authentication.k8s.io': (_rest, { user }) => ({ userInfo: userInfo(user) }),
  'tokenreviews.authentication.k8s.io': reviewToken,
  'selfsubjectaccessreviews.authorization.k8s.io': (rest, { user }, object) => reviewAccess(rest, user, object),
  'subjectaccessreviews.authorization.k8s.io': (rest, _exchange, object) =>
    reviewAccess(rest, subjectOf(object), object),
  'localsubjectaccessreviews.authorization.k8s.io': (rest, _exchange, object) =>
    reviewAccess(rest, subjectOf(object), object),
  'selfsubjectrulesreviews.authorization.k8s.io': (rest, { user }) => rest.rulesFor(user),
};

export function isVirtual(resource: Resource): boolean {
  return qualifiedName(resource) in answers;
}

export async function handleVirtual(
  rest: Rest,
  exchange: Exchange,
  resource: Resource,
  { namespace }: Extract<Target, { kind: 'resource' }>,
): Promise<void> {
  const answer = answers[qualifiedName(resource)];
  if (!answer) throw methodNotAllowed();
  const format = negotiate(exchange.headers, false);
  const { fieldValidation } = writeOptions(exchange, 'CreateOptions');
  const { object, warnings } = decodeBody({
    contentType: exchange.headers['content-type'],
    bytes: await exchange.readBody(),
    resource,
    fieldValidation,
  });
  for (const text of warnings) exchange.warn(text);
  const asked = object as unknown as KubeObject;
  const metadata = { ...asked.metadata, ...(resource.isNamespaced && { namespace }) };
  if (resource.plural === 'selfsubjectreviews') metadata.creationTimestamp = nowInSeconds();
  const status = await answer(rest, exchange, asked);
  const shape = format.shape === 'object' ? format : plainFormat;
  sendJson(exchange, 201, shape, { ...(object as JsonObject), metadata: metadata as unknown as JsonObject, status });
}

async function reviewAccess(rest: Rest, user: UserInfo, { spec }: KubeObject): Promise<JsonObject> {
  const { resourceAttributes, nonResourceAttributes } = (spec ?? {}) as {
    resourceAttributes?: Record<string, string>;
    nonResourceAttributes?: { path?: string; verb?: string };
  };
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    const fault = invalidValue('spec.resourceAttributes', resourceAttributes ?? null, why);
    throw invalid({ kind: '', group: 'authorization.k8s.io' }, '', [fault]);
  }
  const attributes: Attributes = resourceAttributes
    ? {
        kind: 'resource',
        verb: resourceAttributes.verb ?? '',
        group: resourceAttributes.group ?? '',
        version: resourceAttributes.version ?? '',
        resource: resourceAttributes.resource ?? '',
        subresource: resourceAttributes.subresource ?? '',
        namespace: resourceAttributes.namespace ?? '',
        name: resourceAttributes.name ?? '',
      }
    : { kind: 'path', verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' };
  const { allowed, reason } = await rest.authorizer.authorize(user, attributes);
  return { allowed, ...(reason && { reason }) };
}

async function reviewToken(rest: Rest, _exchange: Exchange, { spec }: KubeObject): Promise<JsonObject> {
  const { token } = (spec ?? {}) as { token?: string };
  if (!token) throw badRequest('token is required for TokenReview in authentication');
  const user = await rest.authenticate({ authorization: `Bearer ${token}`, certificate: undefined });
  if (!user || user.username === 'system:anonymous') return { user: {}, error: 'invalid bearer token' };
  return { authenticated: true, user: userInfo(user) };
}

function subjectOf({ spec }: KubeObject): UserInfo {
  const { user = '', groups = [], uid } = (spec ?? {}) as { user?: string; groups?: string[]; uid?: string };
  return { username: user, groups, ...(uid !== undefined && { uid }) };
}

function userInfo({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username,
    ...(uid && { uid }),
    groups: [...groups],
    ...(extra && { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}
