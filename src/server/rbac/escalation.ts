/**
 * Nobody gives away what he does not have: a role may hold only rules its writer holds, a binding may refer only to a
 * role whose rules its writer holds, in the same place. The verbs `escalate` and `bind` on the role lift that.
 *
 * Always true: the check sees the object as it will be stored, on create and on every kind of update; a write that
 * touches nothing but finalizers and owners passes, since the garbage collector must be able to do it.
 */
import { isDeepStrictEqual } from 'node:util';
import { forbidden, type JsonObject, type KubeObject, notFound } from '../../api/index.ts';
import type { Attributes, Authorizer } from '../auth/authorizer.ts';
import type { Resource } from '../registry/resource.ts';
import type { UserInfo } from '../request/user-info.ts';
import { joinPieces, type PolicyRule, rulesIn, showList, showRule } from './policy-rule.ts';
import { RBAC_GROUP } from './rbac-authorizer.ts';
import { bindingOf, type RoleIndex, showErrors } from './role-index.ts';
import { missingFromInTurns } from './rule-cover.ts';

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Throws a 403 if the user may not write this object. */
export type WriteGuard = (
  user: UserInfo,
  resource: Resource,
  object: KubeObject,
  old: KubeObject | undefined,
  subresource: string,
) => void | Promise<void>;

export function escalationGuard(index: RoleIndex, authorizer: Authorizer): WriteGuard {
  const may = async (user: UserInfo, verb: string, plural: string, namespace: string, name: string) => {
    const attributes: Attributes = {
      kind: 'resource',
      verb,
      group: RBAC_GROUP,
      version: 'v1',
      resource: plural,
      subresource: '',
      namespace,
      name,
    };
    return (await authorizer.authorize(user, attributes)).allowed;
  };

  return (user, resource, object, old) => {
    if (resource.group !== RBAC_GROUP || user.groups.includes('system:masters')) return;
    return mustHold(user, resource, object, old);
  };

  async function mustHold(user: UserInfo, resource: Resource, object: KubeObject, old?: KubeObject): Promise<void> {
    if (old && isSameButForCollector(object, old)) return;
    const { namespace = '', name = '' } = object.metadata;
    const refuseUnlessHeld = async (rules: readonly PolicyRule[]) => {
      const why = await notHeld(index, user, namespace, rules);
      if (why) throw forbidden(resource, name, why);
    };
    if (resource.plural === 'roles' || resource.plural === 'clusterroles') {
      if (await may(user, 'escalate', resource.plural, namespace, name)) return;
      await refuseUnlessHeld(rulesIn(object));
      if ((isAggregated(object) || (old && isAggregated(old))) && (await notHeld(index, user, namespace, EVERYTHING)))
        throw forbidden(resource, name, 'must have cluster-admin privileges to use an aggregationRule');
      return;
    }
    const { roleRef } = bindingOf(object);
    const plural = roleRef?.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    if (!roleRef?.name || (await may(user, 'bind', plural, namespace, roleRef.name))) return;
    const rules = index.rulesOf(roleRef, namespace);
    if (!rules) throw notFound({ group: RBAC_GROUP, plural }, roleRef.name);
    await refuseUnlessHeld(rules);
  }
}

async function notHeld(
  index: RoleIndex,
  user: UserInfo,
  namespace: string,
  wanted: readonly PolicyRule[],
): Promise<string | undefined> {
  const { rules, errors } = index.rulesFor(user, namespace);
  const missing = await missingFromInTurns(rules, wanted);
  const who = `user ${JSON.stringify(user.username)} (groups=${showList(user.groups)}) is attempting to grant`;
  if (!missing) return `${who} RBAC permissions that are too many to be compared with those currently held`;
  if (missing.pieces.length === 0) return undefined;
  const shown = [...new Set(joinPieces(missing.pieces).map(showRule))].sort().join('\n');
  const unresolved = errors.length === 0 ? '' : `; resolution errors: ${showErrors(errors, true)}`;
  return `${who} RBAC permissions not currently held:\n${shown}${unresolved}${missing.isCut ? '\n...' : ''}`;
}

function isAggregated(role: KubeObject): boolean {
  return ((role as unknown as JsonObject).aggregationRule ?? null) !== null;
}

function isSameButForCollector(object: KubeObject, old: KubeObject): boolean {
  return isDeepStrictEqual(withoutCollectorFields(object), withoutCollectorFields(old));
}

function withoutCollectorFields({ metadata, ...rest }: KubeObject): object {
  const {
    finalizers: _f,
    ownerReferences: _o,
    managedFields: _m,
    resourceVersion: _v,
    generation: _g,
    ...kept
  } = metadata;
  return { ...rest, metadata: kept };
}
