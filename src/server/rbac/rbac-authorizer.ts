/**
 * The authoriser of `--authorization-mode RBAC`: roles and bindings, followed as the watch caches see them change.
 *
 * Always true: a decision reads memory only; it is made from the index as it is in that moment, and no decision is
 * kept. `system:masters` may do everything, whatever the bindings say: an administrator cannot lock himself out.
 */
import type { Attributes, Authorizer, Decision, UserRules } from '../auth/authorizer.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import { RoleIndex, showErrors } from './role-index.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';
const KINDS = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'] as const;
const ALLOWED: Decision = { allowed: true };

export class RbacAuthorizer implements Authorizer {
  readonly index: RoleIndex = new RoleIndex();
  readonly #listeners: (() => void)[] = [];

  authorize(user: UserInfo, attributes: Attributes): Decision {
    if (user.groups.includes('system:masters')) return ALLOWED;
    return this.index.decide(user, attributes);
  }

  rulesFor(user: UserInfo, namespace: string): UserRules {
    const { rules, errors } = this.index.rulesFor(user, namespace);
    return { rules, ...(errors.length > 0 && { evaluationError: showErrors(errors) }) };
  }

  /** Told after every change of a role or binding. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Learns all roles and bindings as their caches fill, and every change from then on. */
  follow(storages: Pick<ResourceStorages, 'followedStorageOf'>): void {
    for (const plural of KINDS) {
      const isBinding = plural.endsWith('bindings');
      storages.followedStorageOf(RBAC_GROUP, plural).objects.follow((current, previous) => {
        try {
          if (isBinding) this.#bindingChanged(current, previous);
          else this.#roleChanged(current, previous);
        } finally {
          for (const listener of this.#listeners) listener();
        }
      });
    }
  }

  #roleChanged(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    // Away with the old rules first: if the new ones cannot be read, there are none.
    if (previous) this.index.removeRole(previous.namespace, previous.name);
    if (current) this.index.setRole(current.parse());
  }

  #bindingChanged(current: StoredObject | undefined, previous: StoredObject | undefined): void {
    if (previous) this.index.removeBinding(previous.parse());
    if (current) this.index.setBinding(current.parse());
  }
}
