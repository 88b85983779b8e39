/**
 * Role-based access as its rules say it, in the plainest way: every question looks through every binding. It shares no
 * code with the server and is told roles and bindings as the objects they are.
 *
 * The rules: a binding gives its subjects what its role allows, in its namespace, or everywhere if it has none; nothing
 * takes away. A rule allows a request whose verb, group and resource it names (`*` names all, `R/S` the part S of R,
 * `*` with `/S` that part of all); if it lists names, the request must name one of them. Paths are allowed by bindings
 * without a namespace only, `*` standing for any end. A role that gathers others allows what those allow.
 */
export type Rule = {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
};

export type Policy = {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly Rule[] | null;
  readonly aggregationRule?: {
    readonly clusterRoleSelectors?: readonly { readonly matchLabels?: Readonly<Record<string, string>> }[];
  } | null;
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[] | null;
};

export type Person = { readonly name: string; readonly groups: readonly string[] };

export type ResourceQuestion = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: the cluster scope. */
  readonly namespace: string;
  /** Empty: no object in particular. */
  readonly name: string;
};
export type PathQuestion = { readonly verb: string; readonly path: string };
export type Question = ResourceQuestion | PathQuestion;

export class RbacModel {
  readonly #policies: readonly Policy[];

  constructor(policies: readonly Policy[]) {
    this.#policies = policies;
  }

  allows(person: Person, question: Question): boolean {
    if (person.groups.includes('system:masters')) return true;
    const namespace = 'path' in question ? '' : question.namespace;
    return this.rulesOf(person, namespace).some((rule) => ruleAllows(rule, question));
  }

  /** All that this person has in a namespace; at the cluster scope only what counts everywhere. */
  rulesOf(person: Person, namespace: string): Rule[] {
    const rules: Rule[] = [];
    for (const { metadata, roleRef, subjects } of this.#policies) {
      if (!roleRef || (metadata.namespace !== undefined && metadata.namespace !== namespace)) continue;
      if (!(subjects ?? []).some((subject) => isMeant(subject, person))) continue;
      rules.push(...(this.rulesIn(roleRef, metadata.namespace ?? '') ?? []));
    }
    return rules;
  }

  /** Of the role that a binding in this namespace refers to; undefined if there is none. */
  rulesIn(roleRef: { readonly kind: string; readonly name: string }, namespace: string): readonly Rule[] | undefined {
    const role = this.#policies.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind &&
        metadata.name === roleRef.name &&
        (kind === 'ClusterRole' || metadata.namespace === namespace),
    );
    return role && this.#rulesOfRole(role, new Set());
  }

  /** Whether this person may give these rules away: whatever they allow, one rule of hers allows. */
  holds(person: Person, namespace: string, rules: readonly Rule[]): boolean {
    if (person.groups.includes('system:masters')) return true;
    const held = this.rulesOf(person, namespace);
    return rules.flatMap(questionsOf).every((question) => held.some((rule) => ruleAllows(rule, question)));
  }

  #rulesOfRole(role: Policy, above: Set<Policy>): readonly Rule[] {
    const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
    if (selectors.length === 0) return role.rules ?? [];
    const chain = new Set([...above, role]);
    return this.#policies
      .filter((other) => other.kind === 'ClusterRole' && !chain.has(other))
      .filter(({ metadata: { labels = {} } }) =>
        selectors.some(({ matchLabels = {} }) =>
          Object.entries(matchLabels).every(([name, value]) => labels[name] === value),
        ),
      )
      .flatMap((other) => this.#rulesOfRole(other, chain));
  }
}

export function ruleAllows(rule: Rule, question: Question): boolean {
  if (!rule.verbs.some((verb) => verb === '*' || verb === question.verb)) return false;
  if ('path' in question) return (rule.nonResourceURLs ?? []).some((url) => isEndedBy(url, question.path));
  const { group, resource, subresource, name } = question;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    (rule.apiGroups ?? []).some((one) => one === '*' || one === group) &&
    (rule.resources ?? []).some(
      (one) => one === '*' || one === full || (subresource !== '' && one === `*/${subresource}`),
    ) &&
    ((rule.resourceNames ?? []).length === 0 || rule.resourceNames!.includes(name))
  );
}

function isEndedBy(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}

function isMeant(
  subject: { readonly kind: string; readonly name: string; readonly namespace?: string },
  { name, groups }: Person,
): boolean {
  if (subject.kind === 'User') return subject.name === name;
  if (subject.kind === 'Group') return groups.includes(subject.name);
  return `system:serviceaccount:${subject.namespace}:${subject.name}` === name;
}

/** Which only a rule without names allows. */
const ANY_NAME = ' ';

/** What a rule gives, one by one: `*` is a thing of its own, which only `*` gives. */
function questionsOf({ verbs, apiGroups = [], resources = [], resourceNames, nonResourceURLs = [] }: Rule): Question[] {
  const questions: Question[] = [];
  for (const verb of verbs) {
    for (const path of nonResourceURLs) questions.push({ verb, path });
    for (const group of apiGroups)
      for (const full of resources)
        for (const name of resourceNames?.length ? resourceNames : [ANY_NAME]) {
          const [resource = '', subresource = ''] = full.split('/');
          questions.push({ verb, group, resource, subresource, namespace: '', name });
        }
  }
  return questions;
}
