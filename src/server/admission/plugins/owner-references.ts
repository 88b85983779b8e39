/**
 * OwnerReferencesPermissionEnforcement: an object goes with its owners, so who gives it another owner must be allowed to delete
 * it; and it may keep an owner from going, so who has it do that must be allowed to put finalizers on the owner.
 *
 * A new object is its writer's own. The words are those of kube-apiserver.
 */
import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, type OwnerReference, quote } from '../../../api/index.ts';
import type { Attributes, Authorizer } from '../../auth/authorizer.ts';
import type { Resource } from '../../registry/resource.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../admission.ts';

export type ResourceOfKind = (apiVersion: string, kind: string) => Resource | undefined;

export function ownerReferences(authorizer: Authorizer, resourceOf: ResourceOfKind): AdmissionPlugin {
  const may = async (a: AdmissionAttributes, verb: string, what: What) => {
    const { allowed, reason = '' } = await authorizer.authorize(a.user, { kind: 'resource', verb, ...what });
    return allowed ? undefined : `${reason}, <nil>`;
  };
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    // A status cannot change who owns a Pod, and old kubelets send some nonsense there.
    handles: (operation, { group, plural }, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      !(group === '' && plural === 'pods' && subresource === 'status'),
    validate: async (a) => {
      const { object, oldObject, operation, resource, subresource, namespace, name } = a;
      if (isDeepStrictEqual(ownersOf(object), ownersOf(oldObject))) return;
      if (operation === 'UPDATE') {
        const { group, version, plural } = resource;
        const why = await may(a, 'delete', { group, version, resource: plural, subresource, namespace, name });
        if (why !== undefined) throw refuse(a, `cannot set an ownerRef on a resource you can't delete: ${why}`);
      }
      for (const { apiVersion, kind, name: owner } of newlyBlocking(ownersOf(object), ownersOf(oldObject))) {
        const found = resourceOf(apiVersion, kind);
        if (!found) {
          const missing = `no matches for kind ${quote(kind)} in version ${quote(apiVersion)}`;
          const lead = 'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for';
          throw refuse(a, `${lead} APIVersion ${apiVersion} Kind ${kind}: ${missing}`);
        }
        const { group, version, plural, isNamespaced } = found;
        const place = { namespace: isNamespaced ? namespace : '', name: owner };
        const why = await may(a, 'update', { group, version, resource: plural, subresource: 'finalizers', ...place });
        if (why === undefined) continue;
        const lead =
          "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
        throw refuse(a, `${lead}: ${why}`);
      }
    },
  };
}

type What = Omit<Extract<Attributes, { kind: 'resource' }>, 'kind' | 'verb'>;

function ownersOf(object: KubeObject | undefined): readonly OwnerReference[] {
  return object?.metadata?.ownerReferences ?? [];
}

/** Those that did not keep their owner from going before. */
function newlyBlocking(owners: readonly OwnerReference[], before: readonly OwnerReference[]): OwnerReference[] {
  const blocking = new Set(before.filter(({ blockOwnerDeletion }) => blockOwnerDeletion).map(({ uid }) => uid));
  return owners.filter(({ blockOwnerDeletion, uid }) => blockOwnerDeletion && !blocking.has(uid));
}
