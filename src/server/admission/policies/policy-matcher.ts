/**
 * Which requests a policy, or a binding of it, is about: rules, rules that exclude, labels of namespaces and objects.
 * A request for a resource that no rule names matches if one names another version of the same stored kind, unless the
 * policy wants exactly what it names.
 *
 * A namespace that is not there is a 404, but only for who matches otherwise.
 */
import {
  type JsonObject,
  type KubeObject,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFromObject,
  notFound,
} from '../../../api/index.ts';
import type { Resource } from '../../registry/resource.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { type Matched, namespaceOf } from '../expressions/request-values.ts';
import type { EquivalentResources } from '../matching/equivalent-resources.ts';
import { type ResourceRule, type RuledRequest, ruleMatches } from '../matching/resource-rules.ts';

type NamedRule = { readonly rule: ResourceRule; readonly names: readonly string[] };

export type MatchResources = {
  /** None: every resource. */
  readonly rules: readonly NamedRule[];
  readonly excluded: readonly NamedRule[];
  readonly isEquivalent: boolean;
  readonly namespaces: LabelSelector;
  readonly objects: LabelSelector;
};

export function readMatchResources(match: JsonObject): MatchResources {
  const selector = (field: string) =>
    labelSelectorFromObject((objectAt(match, field) ?? {}) as unknown as LabelSelectorObject);
  return {
    rules: objectsAt(match, 'resourceRules').map(readRule),
    excluded: objectsAt(match, 'excludeResourceRules').map(readRule),
    isEquivalent: textAt(match, 'matchPolicy') !== 'Exact',
    namespaces: selector('namespaceSelector'),
    objects: selector('objectSelector'),
  };
}

function readRule(rule: JsonObject): NamedRule {
  return { rule: rule as unknown as ResourceRule, names: textsAt(rule, 'resourceNames') };
}

export type NamespaceNamed = (
  name: string,
  signal: AbortSignal,
) => KubeObject | undefined | Promise<KubeObject | undefined>;

export class PolicyMatcher {
  readonly #equivalents: EquivalentResources;
  readonly #namespaceNamed: NamespaceNamed;

  constructor(equivalents: EquivalentResources, namespaceNamed: NamespaceNamed) {
    this.#equivalents = equivalents;
    this.#namespaceNamed = namespaceNamed;
  }

  /** Undefined: it is not about this request. What most policies are not about is known without waiting. */
  match(match: MatchResources, a: AdmissionAttributes): undefined | Promise<Matched | undefined> {
    // The cheapest first: what no rule names needs no look at any label. The outcome is the same.
    const matched =
      match.rules.length === 0 ? { resource: a.resource, kind: a.kind } : this.#byRules(match.rules, match, a);
    if (!matched || this.#byRules(match.excluded, match, a) || !objectMatches(match.objects, a)) return undefined;
    return this.#namespaceMatches(match.namespaces, a).then((isMatch) => (isMatch ? matched : undefined));
  }

  /** The namespace that the object is in; undefined if in none. */
  async namespace(a: AdmissionAttributes): Promise<KubeObject | undefined> {
    if (isNamespace(a) || a.namespace === '') return undefined;
    const found = await this.#namespaceNamed(a.namespace, a.signal);
    if (!found) throw notFound({ group: '', plural: 'namespaces' }, a.namespace);
    return found;
  }

  #byRules(rules: readonly NamedRule[], { isEquivalent }: MatchResources, a: AdmissionAttributes): Matched | undefined {
    if (rules.length === 0) return undefined;
    const { operation, resource, subresource, kind, name } = a;
    const { group, version, plural } = resource;
    const asked: RuledRequest = { operation, group, version, resource: plural, subresource, namespace: namespaceOf(a) };
    const matches = ({ rule, names }: NamedRule, request: RuledRequest) =>
      ruleMatches(rule, request) && (names.length === 0 || names.includes(name));
    if (rules.some((rule) => matches(rule, asked))) return { resource, kind };
    if (!isEquivalent) return undefined;
    const others = this.#equivalents.of(resource, subresource);
    for (const rule of others.length === 0 ? [] : rules)
      for (const other of others)
        if (matches(rule, { ...asked, group: other.group, version: other.version, resource: other.plural }))
          return { resource: other, kind: kindIn(other, a) };
    return undefined;
  }

  async #namespaceMatches(selector: LabelSelector, a: AdmissionAttributes): Promise<boolean> {
    if (selector.isEmpty) return true;
    const { operation, object, subresource } = a;
    if (isNamespace(a)) {
      // A namespace that is being written is judged by what it will be.
      if (subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
        return selector.matches(object?.metadata.labels);
      const found = await this.#namespaceNamed(namespaceOf(a), a.signal);
      if (!found) throw notFound(a.resource, namespaceOf(a));
      return selector.matches(found.metadata.labels);
    }
    const namespace = await this.namespace(a);
    return !namespace || selector.matches(namespace.metadata.labels);
  }
}

/** What a subresource takes is the same in all versions. */
function kindIn(other: Resource, { kind, resource }: AdmissionAttributes): Matched['kind'] {
  if (kind.kind !== resource.kind || kind.group !== resource.group) return kind;
  return { group: other.group, version: other.version, kind: other.kind };
}

function isNamespace({ resource }: AdmissionAttributes): boolean {
  return resource.group === '' && resource.plural === 'namespaces';
}

function objectMatches(selector: LabelSelector, { object, oldObject }: AdmissionAttributes): boolean {
  if (selector.isEmpty) return true;
  return [object, oldObject].some((one) => one !== undefined && selector.matches(one.metadata?.labels));
}
