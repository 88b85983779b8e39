/**
 * The right to create an object, as a thing one holds: `ResourceStorage.create` takes it, and asking the authoriser is how
 * one gets it. So no way to make an object, whatever its verb, passes the question by.
 *
 * Always true: it is good for objects of the resource and namespace it was asked for, and under a name if the request
 * named one. A request that names the object (apply, update) asks with the name; a POST asks without, whatever its body
 * says. A namespace is made at the cluster scope: it does not lie in itself before it is there. Where the right is not
 * given, a 403.
 */

import { whenThere } from '../event-loop/when-there.ts';
import type { Resource } from '../registry/resource.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type Attributes, type Authorizer, forbiddenBy } from './authorizer.ts';

type Covers = (resource: Resource, namespace: string, name: string) => boolean;

export class CreateRight {
  /** For what the server makes by itself, when nobody has asked for anything. */
  static readonly ofServer: CreateRight = new CreateRight(() => true);
  readonly #covers: Covers;

  private constructor(covers: Covers) {
    this.#covers = covers;
  }

  /** `asked`: where the request's path leads; its name is empty for a POST. */
  static ask(
    authorizer: Authorizer,
    user: UserInfo,
    resource: Resource,
    asked: { readonly namespace: string; readonly name: string },
  ): CreateRight | Promise<CreateRight> {
    const { group, version, plural } = resource;
    const { namespace, name } = asked;
    const what = { group, version, resource: plural, subresource: '', namespace, name };
    const attributes: Attributes = { kind: 'resource', verb: 'create', ...what };
    return whenThere(authorizer.authorize(user, attributes), ({ allowed, reason }) => {
      if (!allowed) throw forbiddenBy(user, attributes, reason);
      return new CreateRight(
        (other, otherNamespace, otherName) =>
          other.group === group &&
          other.plural === plural &&
          otherNamespace === namespace &&
          (name === '' || otherName === name),
      );
    });
  }

  /** A right for something else is a mistake in this program, not of a client. */
  check(resource: Resource, namespace: string, name: string): void {
    if (!this.#covers(resource, namespace, name))
      throw new Error(`Cannot create ${resource.plural} ${JSON.stringify(name)}: the right is for something else`);
  }
}
