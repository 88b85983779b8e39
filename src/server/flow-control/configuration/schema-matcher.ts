/**
 * Which FlowSchema a request belongs to.
 *
 * Pure, and compiled: a schema is turned into sets once, when it changes, so that a request costs a few look-ups for
 * each schema before its own. The first in order of precedence, then of name, wins; empty lists match nothing.
 */
import type { Attributes } from '../../auth/authorizer.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { FlowRule, FlowSchema, PathRule, ResourceRule } from './flow-objects.ts';

export type SchemaMatcher = (user: UserInfo, attributes: Attributes) => boolean;

export function compileSchema({ rules }: FlowSchema): SchemaMatcher {
  const compiled = rules.map(compileRule);
  return (user, attributes) => {
    for (const rule of compiled) if (rule(user, attributes)) return true;
    return false;
  };
}

/** The order in which schemas are asked. */
export function inOrder(schemas: Iterable<FlowSchema>): FlowSchema[] {
  return [...schemas].sort((a, b) => a.precedence - b.precedence || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function compileRule({ subjects, resourceRules, pathRules }: FlowRule): SchemaMatcher {
  const isSubject = compileSubjects(subjects);
  const onResources = resourceRules.map(compileResourceRule);
  const onPaths = pathRules.map(compilePathRule);
  return (user, attributes) => {
    if (attributes.kind === 'resource') {
      for (const rule of onResources) if (rule(attributes)) return isSubject(user);
    } else for (const rule of onPaths) if (rule(attributes)) return isSubject(user);
    return false;
  };
}

const ACCOUNT = 'system:serviceaccount:';

function compileSubjects(subjects: FlowRule['subjects']): (user: UserInfo) => boolean {
  const users = new Set<string>();
  const groups = new Set<string>();
  const accountPrefixes: string[] = [];
  for (const subject of subjects) {
    if (subject.kind !== 'ServiceAccount') (subject.kind === 'User' ? users : groups).add(subject.name);
    else if (subject.name === '*') accountPrefixes.push(`${ACCOUNT}${subject.namespace}:`);
    else users.add(`${ACCOUNT}${subject.namespace}:${subject.name}`);
  }
  if (users.has('*') || groups.has('*')) return () => true;
  return ({ username, groups: theirs }) => {
    if (users.has(username)) return true;
    if (groups.size > 0) for (const group of theirs) if (groups.has(group)) return true;
    for (const prefix of accountPrefixes) if (username.startsWith(prefix)) return true;
    return false;
  };
}

type OnResource = Extract<Attributes, { kind: 'resource' }>;
type OnPath = Extract<Attributes, { kind: 'path' }>;

function compileResourceRule(rule: ResourceRule): (attributes: OnResource) => boolean {
  const isVerb = oneOf(rule.verbs);
  const isGroup = oneOf(rule.apiGroups);
  const isResource = oneOf(rule.resources);
  const isNamespace = oneOf(rule.namespaces);
  const { clusterScope } = rule;
  return ({ verb, group, resource, subresource, namespace }) =>
    isVerb(verb) &&
    isGroup(group) &&
    isResource(subresource === '' ? resource : `${resource}/${subresource}`) &&
    (namespace === '' ? clusterScope : isNamespace(namespace));
}

function compilePathRule({ verbs, urls }: PathRule): (attributes: OnPath) => boolean {
  const isVerb = oneOf(verbs);
  const isAny = urls.includes('*');
  const exact = new Set(urls);
  const prefixes = urls.map((url) => {
    const begin = url.endsWith('*') ? url.slice(0, -1) : url;
    return begin.endsWith('/') ? begin : `${begin}/`;
  });
  return ({ verb, path }) => {
    if (!isVerb(verb)) return false;
    if (isAny || exact.has(path)) return true;
    for (const prefix of prefixes) if (path.startsWith(prefix)) return true;
    return false;
  };
}

/** A star stands for everything only where it stands alone. */
function oneOf(values: readonly string[]): (value: string) => boolean {
  if (values.length === 1) {
    const [only] = values;
    return only === '*' ? () => true : (value) => value === only;
  }
  const set = new Set(values);
  return (value) => set.has(value);
}
