/**
 * All roles and bindings, laid out for the question that every request asks: which rules does this user have here?
 *
 *   subject (user or group) ─► namespace, or '' for everywhere ─► grants ─► role ─► rules by resource
 *
 * Always true: the index holds what it was told last, and nothing derived from it is kept elsewhere. A grant names its
 * role; the role is looked up when the question comes, so either may come and go first. A subject costs what is
 * granted to it, whatever others have.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { Attributes, Decision } from '../auth/authorizer.ts';
import { serviceAccountUser } from '../auth/service-account-name.ts';
import type { UserInfo } from '../request/user-info.ts';
import {
  type AskedRule,
  allowsOnResource,
  allowsPath,
  asked,
  type PolicyRule,
  resourcePatterns,
  rulesIn,
} from './policy-rule.ts';

export type RoleRef = { readonly kind: string; readonly name: string };

export type Subject = { readonly kind: string; readonly name: string; readonly namespace?: string };

type OnResource = Extract<Attributes, { kind: 'resource' }>;
type OnPath = Extract<Attributes, { kind: 'path' }>;

type Grant = { readonly roleKey: string; readonly decision: Decision };

/** By binding; everywhere under ''. */
type Grants = Map<string, Map<string, Grant>>;

type CompiledRole = {
  readonly rules: readonly PolicyRule[];
  readonly byResource: ReadonlyMap<string, readonly AskedRule[]>;
  readonly onPaths: readonly PolicyRule[];
};

export class RoleIndex {
  readonly #roles = new Map<string, CompiledRole>();
  readonly #subjects = new Map<string, Grants>();

  setRole(role: KubeObject): void {
    this.#roles.set(roleKey(role.metadata.namespace ?? '', role.metadata.name!), compile(rulesIn(role)));
  }

  removeRole(namespace: string, name: string): void {
    this.#roles.delete(roleKey(namespace, name));
  }

  setBinding(binding: KubeObject): void {
    const { namespace = '', name = '' } = binding.metadata;
    const { roleRef, subjects } = bindingOf(binding);
    const where = roleRef.kind === 'ClusterRole' ? '' : namespace;
    for (const subject of subjects) {
      const grants = entry(this.#subjects, subjectKey(subject, namespace), () => new Map());
      const reason = `RBAC: allowed by ${showBinding(namespace, name)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${showSubject(subject)}`;
      entry(grants, namespace, () => new Map()).set(name, {
        roleKey: roleKey(where, roleRef.name),
        decision: { allowed: true, reason },
      });
    }
  }

  /** `binding`: as it was when it was set. */
  removeBinding(binding: KubeObject): void {
    const { namespace = '', name = '' } = binding.metadata;
    for (const subject of bindingOf(binding).subjects) {
      const key = subjectKey(subject, namespace);
      const grants = this.#subjects.get(key);
      const here = grants?.get(namespace);
      if (!grants || !here?.delete(name) || here.size > 0) continue;
      grants.delete(namespace);
      if (grants.size === 0) this.#subjects.delete(key);
    }
  }

  /** With the binding that allows it, or with the roles that are granted and do not exist. */
  decide(user: UserInfo, attributes: Attributes): Decision {
    const isResource = attributes.kind === 'resource';
    const patterns = isResource ? resourcePatterns(attributes.resource, attributes.subresource) : [];
    const namespace = isResource ? attributes.namespace : '';
    let missing: Set<string> | undefined;
    for (const grants of this.#grantsOf(user, namespace))
      for (const { roleKey: key, decision } of grants.values()) {
        const role = this.#roles.get(key);
        if (!role) {
          missing ??= new Set();
          missing.add(roleNotFound(key));
        } else if (isResource ? allowsResource(role, patterns, attributes) : allowsOther(role, attributes))
          return decision;
      }
    return missing ? { allowed: false, reason: `RBAC: ${showErrors([...missing])}` } : DENIED;
  }

  /** Everything a user may do in a namespace, and the roles that are granted but do not exist. */
  rulesFor(user: UserInfo, namespace: string): { readonly rules: PolicyRule[]; readonly errors: string[] } {
    const rules: PolicyRule[] = [];
    const errors = new Set<string>();
    for (const grants of this.#grantsOf(user, namespace))
      for (const { roleKey: key } of grants.values()) {
        const role = this.#roles.get(key);
        if (role) for (const rule of role.rules) rules.push(rule);
        else errors.add(roleNotFound(key));
      }
    return { rules, errors: [...errors] };
  }

  /** Of a role a binding in `namespace` refers to; undefined if there is none. */
  rulesOf({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#roles.get(roleKey(kind === 'ClusterRole' ? '' : namespace, name))?.rules;
  }

  /** Those that count in a namespace, of the user and of each of his groups. */
  #grantsOf({ username, groups }: UserInfo, namespace: string): ReadonlyMap<string, Grant>[] {
    const found: ReadonlyMap<string, Grant>[] = [];
    for (let i = -1; i < groups.length; i++) {
      const grants = this.#subjects.get(i < 0 ? `User ${username}` : `Group ${groups[i]}`);
      const everywhere = grants?.get('');
      if (everywhere) found.push(everywhere);
      const here = namespace === '' ? undefined : grants?.get(namespace);
      if (here) found.push(here);
    }
    return found;
  }
}

/** As one sentence, or always as a list; as many as fit into a refusal that somebody reads. */
export function showErrors(errors: readonly string[], isList: boolean = errors.length !== 1): string {
  let text = '';
  for (const [i, error] of errors.entries()) {
    if (text.length > SHOWN_LENGTH) {
      text += ', ...';
      break;
    }
    text += `${i > 0 ? ', ' : ''}${error}`;
  }
  return isList ? `[${text}]` : text;
}

export function bindingOf(binding: KubeObject): { readonly roleRef: RoleRef; readonly subjects: readonly Subject[] } {
  const { roleRef, subjects } = binding as unknown as JsonObject;
  return {
    roleRef: roleRef as unknown as RoleRef,
    subjects: (subjects as unknown as Subject[] | null | undefined) ?? [],
  };
}

const SHOWN_LENGTH = 16 * 1024;
const DENIED: Decision = { allowed: false };

function allowsResource({ byResource }: CompiledRole, patterns: readonly string[], attributes: OnResource): boolean {
  for (const pattern of patterns) {
    const rules = byResource.get(pattern);
    if (rules) for (const rule of rules) if (allowsOnResource(rule, attributes)) return true;
  }
  return false;
}

function allowsOther({ onPaths }: CompiledRole, { verb, path }: OnPath): boolean {
  return onPaths.some((rule) => allowsPath(rule, verb, path));
}

function compile(rules: readonly PolicyRule[]): CompiledRole {
  const byResource = new Map<string, AskedRule[]>();
  for (const rule of rules) {
    const compiled = asked(rule);
    for (const resource of new Set(rule.resources)) entry(byResource, resource, () => []).push(compiled);
  }
  return { rules, byResource, onPaths: rules.filter(({ nonResourceURLs }) => nonResourceURLs?.length) };
}

/** A service account is a user with a name of its own form. */
function subjectKey({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  if (kind !== 'ServiceAccount') return `${kind} ${name}`;
  return `User ${serviceAccountUser(namespace || bindingNamespace, name)}`;
}

/** A Role lies in a namespace, a ClusterRole in none; a space cannot be part of either name. */
function roleKey(namespace: string, name: string): string {
  return `${namespace} ${name}`;
}

function roleNotFound(key: string): string {
  const space = key.indexOf(' ');
  const kind = space === 0 ? 'clusterrole' : 'role';
  return `${kind}.rbac.authorization.k8s.io ${JSON.stringify(key.slice(space + 1))} not found`;
}

function showBinding(namespace: string, name: string): string {
  return namespace === ''
    ? `ClusterRoleBinding ${JSON.stringify(name)}`
    : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
}

function showSubject({ kind, name, namespace }: Subject): string {
  return `${kind} ${JSON.stringify(namespace ? `${name}/${namespace}` : name)}`;
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
