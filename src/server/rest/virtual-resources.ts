/**
 * Resources that are asked, not stored: reviews of who one is and what one may do. A create is a question, and its
 * answer is the object with a status.
 */
import { badRequest, type JsonObject, type KubeObject, methodNotAllowed, type ObjectMeta } from '../../api/index.ts';
import { reviewAccess, reviewLocalAccess, reviewOwnAccess, reviewOwnRules } from '../auth/access-review.ts';
import { negotiate, plainFormat } from '../encodings/negotiation.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { trackUpdate } from '../managed-fields/index.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import { readBodyObject } from './input/read-body.ts';
import { writeOptions } from './input/write-options.ts';
import { sendJson } from './output/answer.ts';
import { nowInSeconds, type Rest } from './rest.ts';
import { placeIn } from './writing/prepare.ts';
import { admissionOf } from './writing/write-admission.ts';

type Answer = (
  rest: Rest,
  context: RequestContext,
  object: KubeObject,
  namespace: string,
) => JsonObject | Promise<JsonObject>;

const answers: Readonly<Record<string, Answer>> = {
  'selfsubjectreviews.authentication.k8s.io': (_rest, { user }) => ({ userInfo: userInfo(user) }),
  'tokenreviews.authentication.k8s.io': reviewToken,
  'selfsubjectaccessreviews.authorization.k8s.io': ({ authorizer }, { user }, object) =>
    reviewOwnAccess(authorizer, user, object),
  'subjectaccessreviews.authorization.k8s.io': ({ authorizer }, _context, object) => reviewAccess(authorizer, object),
  'localsubjectaccessreviews.authorization.k8s.io': ({ authorizer }, _context, object, namespace) =>
    reviewLocalAccess(authorizer, object, namespace),
  'selfsubjectrulesreviews.authorization.k8s.io': ({ authorizer }, { user }, object) =>
    reviewOwnRules(authorizer, user, object),
};

export function isVirtual(resource: Resource): boolean {
  return qualifiedName(resource) in answers;
}

export async function handleVirtual(
  rest: Rest,
  context: RequestContext,
  resource: Resource,
  { namespace }: Extract<RequestInfo, { kind: 'resource' }>,
): Promise<void> {
  const answer = answers[qualifiedName(resource)];
  if (!answer) throw methodNotAllowed();
  const format = negotiate(context.headers, resource);
  const options = writeOptions(context, 'CreateOptions');
  const { fieldValidation, manager } = options;
  const object = await readBodyObject(context, resource, fieldValidation);
  const slices = new WorkSlices(context.signal);
  const given = { ...(object as unknown as KubeObject) };
  const metadata: ObjectMeta = { ...given.metadata };
  placeIn(namespace, metadata, resource);
  for (const field of SYSTEM_FIELDS) delete (metadata as JsonObject)[field];
  given.metadata = metadata;
  const managedFields = trackUpdate({
    after: given as unknown as JsonObject,
    schema: resource.schema,
    manager,
    apiVersion: resource.groupVersion,
    now: nowInSeconds(),
  });
  if (managedFields) metadata.managedFields = managedFields;
  if (slices.isOver) await slices.pause();
  const place = { namespace, name: '', subresource: '' };
  const admission = admissionOf(rest.admission, context, { operation: 'CREATE', resource, place, options });
  const strategyContext = rest.strategyContext(context, '', options.isDryRun);
  const asked = await admission.admit(given, undefined, strategyContext);
  await admission.validate(asked, undefined, strategyContext);
  const status = await answer(rest, context, asked, namespace);
  if (slices.isOver) await slices.pause();
  const shape = format.shape === 'object' ? format : plainFormat;
  const { kind, apiVersion } = object;
  const fresh = FRESH[resource.plural];
  if (fresh) sendJson(context, 201, shape, { kind: kind!, apiVersion: apiVersion!, ...fresh(), status });
  else sendJson(context, 201, shape, { ...(asked as unknown as JsonObject), status });
}

/** What a writer may say of metadata, and the server forgets. */
const SYSTEM_FIELDS = ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'uid'];

/** Answers that are objects of their own: nothing that was sent comes back. */
const FRESH: Readonly<Record<string, () => JsonObject>> = {
  selfsubjectreviews: () => ({ metadata: { creationTimestamp: nowInSeconds() } }),
  selfsubjectrulesreviews: () => ({ metadata: {}, spec: {} }),
};

/** What the question says of its own answer stays where the answer says nothing. */
async function reviewToken(rest: Rest, _context: RequestContext, { spec, status }: KubeObject): Promise<JsonObject> {
  const { token, audiences } = (spec ?? {}) as { token?: string; audiences?: string[] | null };
  if (!token) throw badRequest('token is required for TokenReview in authentication');
  // It is tried as a header would be, where what follows a blank is not the token: then nobody asks.
  if (token.startsWith(' '))
    return { authenticated: true, user: userInfo(anonymous), ...(audiences?.length && { audiences }) };
  const found = await rest.reviewToken(token, audiences ?? []);
  if (!found) {
    const { authenticated: _is, error: _why, ...said } = (status ?? {}) as JsonObject;
    return { user: {}, ...said, error: 'invalid bearer token' };
  }
  return { authenticated: true, user: userInfo(found.user), audiences: [...found.audiences] };
}

const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

function userInfo({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    username,
    ...(uid && { uid }),
    groups: [...groups],
    ...(extra && { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}
