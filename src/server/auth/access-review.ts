/**
 * SubjectAccessReview and its kin (SelfSubject..., LocalSubject..., SelfSubjectRulesReview): may this one do that, from
 * what was asked to what the authoriser says. Nothing is stored, and
 * a question that makes no sense is refused in the words of kube-apiserver.
 */
import {
  badRequest,
  type FieldError,
  invalid,
  invalidValue,
  type JsonObject,
  type KubeObject,
} from '../../api/index.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { Attributes, Authorizer } from './authorizer.ts';
import { checkSelectors, ignoredSelectors, type SelectorQuestion } from './selector-review.ts';

type ResourceQuestion = {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: SelectorQuestion | null;
  labelSelector?: SelectorQuestion | null;
};

type Spec = {
  resourceAttributes?: ResourceQuestion | null;
  nonResourceAttributes?: { path?: string; verb?: string } | null;
  user?: string;
  groups?: string[] | null;
  uid?: string;
  extra?: Record<string, string[]> | null;
  namespace?: string;
};

export async function reviewOwnAccess(authorizer: Authorizer, user: UserInfo, object: KubeObject): Promise<JsonObject> {
  const spec = specOf(object);
  refuse([...checkQuestion(spec), ...checkMetadata(object)]);
  return review(authorizer, user, spec);
}

export async function reviewAccess(authorizer: Authorizer, object: KubeObject): Promise<JsonObject> {
  const spec = specOf(object);
  refuse([...checkQuestion(spec), ...checkSubject(spec), ...checkMetadata(object)]);
  return review(authorizer, subjectOf(spec), spec);
}

/** About one namespace only, the one in the path. */
export async function reviewLocalAccess(
  authorizer: Authorizer,
  object: KubeObject,
  namespace: string,
): Promise<JsonObject> {
  const spec = specOf(object);
  const { resourceAttributes, nonResourceAttributes } = spec;
  const faults = [...checkQuestion(spec), ...checkSubject(spec), ...checkMetadata(object, ' except for namespace')];
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes && asked !== namespace)
    faults.push(invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace'));
  if (nonResourceAttributes)
    faults.push(
      invalidValue(
        'spec.nonResourceAttributes',
        shownPath(nonResourceAttributes),
        'disallowed on this kind of request',
      ),
    );
  refuse(faults);
  return review(authorizer, subjectOf(spec), spec);
}

/** Everything one may do in a namespace, as far as it can be listed. */
export function reviewOwnRules(authorizer: Authorizer, user: UserInfo, object: KubeObject): JsonObject {
  const { namespace = '' } = specOf(object);
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, evaluationError } = authorizer.rulesFor(user, namespace);
  const resourceRules: JsonObject[] = [];
  const nonResourceRules: JsonObject[] = [];
  for (const { verbs, apiGroups = [], resources = [], resourceNames, nonResourceURLs } of rules) {
    if (resources.length > 0)
      resourceRules.push({
        verbs: [...verbs],
        apiGroups: [...apiGroups],
        resources: [...resources],
        ...(resourceNames?.length && { resourceNames: [...resourceNames] }),
      });
    if (nonResourceURLs?.length) nonResourceRules.push({ verbs: [...verbs], nonResourceURLs: [...nonResourceURLs] });
  }
  return {
    resourceRules,
    nonResourceRules,
    incomplete: evaluationError !== undefined,
    ...(evaluationError !== undefined && { evaluationError }),
  };
}

async function review(authorizer: Authorizer, user: UserInfo, spec: Spec): Promise<JsonObject> {
  const { allowed, reason } = await authorizer.authorize(user, attributesIn(spec));
  const ignored = spec.resourceAttributes ? ignoredSelectors(spec.resourceAttributes) : '';
  return { allowed, ...(reason && { reason }), ...(ignored && { evaluationError: ignored }) };
}

function attributesIn({ resourceAttributes, nonResourceAttributes }: Spec): Attributes {
  if (!resourceAttributes) {
    const { verb = '', path = '' } = nonResourceAttributes ?? {};
    return { kind: 'path', verb, path };
  }
  const { verb = '', group = '', version = '', resource = '', subresource = '' } = resourceAttributes;
  const { namespace = '', name = '' } = resourceAttributes;
  return { kind: 'resource', verb, group, version, resource, subresource, namespace, name };
}

function checkQuestion({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    const why = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue('spec.nonResourceAttributes', shownPath(nonResourceAttributes), why)];
  }
  if (resourceAttributes) return checkSelectors(resourceAttributes, 'spec.resourceAttributes');
  if (nonResourceAttributes) return [];
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue('spec.resourceAttributes', null, why)];
}

function checkSubject({ user = '', groups }: Spec): FieldError[] {
  if (user !== '' || groups?.length) return [];
  return [invalidValue('spec.user', user, 'at least one of user or group must be specified')];
}

/** A question has no name of its own; what the server sets in metadata has been taken away. */
function checkMetadata({ metadata }: KubeObject, but = ''): FieldError[] {
  const { managedFields: _m, namespace: _n, ...rest } = metadata ?? {};
  return Object.keys(rest).length === 0 ? [] : [invalidValue('metadata', rest as JsonObject, `must be empty${but}`)];
}

/** As kube-apiserver's own types call their fields. */
function shownPath({ path = '', verb = '' }: { path?: string; verb?: string }): JsonObject {
  return { Path: path, Verb: verb };
}

function refuse(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid({ kind: '', group: 'authorization.k8s.io' }, '', faults);
}

function subjectOf({ user = '', groups, uid, extra }: Spec): UserInfo {
  return { username: user, groups: groups ?? [], ...(uid !== undefined && { uid }), ...(extra && { extra }) };
}

function specOf({ spec }: KubeObject): Spec {
  return (spec ?? {}) as Spec;
}
