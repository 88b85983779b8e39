/**
 * What a role allows: rules, and whether a rule allows a request. (Whether rules give what others give: rule-cover.ts.)
 *
 * Always true: a rule is about resources or about paths, never both; `*` stands for everything, and in a path only at
 * its end. Names restrict a rule to requests that name an object, so they never allow a POST or a whole list. However
 * long the lists of a rule are, asking it costs the same.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { Attributes } from '../auth/authorizer.ts';

export type PolicyRule = {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
};

type ResourceAttributes = Extract<Attributes, { kind: 'resource' }>;

export function rulesIn(role: KubeObject): readonly PolicyRule[] {
  return ((role as unknown as JsonObject).rules as unknown as PolicyRule[] | null | undefined) ?? [];
}

/** A list of words to be found in: short ones as they are, long ones for look-up; `all`: every word is in it. */
export type Words = readonly string[] | ReadonlySet<string> | 'all';

const SHORT = 8;

/** `hasStar`: whether a `*` among them means all. */
export function wordsOf(list: readonly string[] | undefined, hasStar: boolean): Words {
  if (hasStar && list?.includes('*')) return 'all';
  return list && list.length > SHORT ? new Set(list) : (list ?? []);
}

export function has(words: Words, word: string): boolean {
  if (words === 'all') return true;
  return words instanceof Set ? words.has(word) : (words as readonly string[]).includes(word);
}

/** A rule as requests ask it. */
export type AskedRule = { readonly verbs: Words; readonly apiGroups: Words; readonly names: Words };

export function asked({ verbs, apiGroups, resourceNames }: PolicyRule): AskedRule {
  return {
    verbs: wordsOf(verbs, true),
    apiGroups: wordsOf(apiGroups, true),
    names: isFilled(resourceNames) ? wordsOf(resourceNames, false) : 'all',
  };
}

/** All but the resource itself, which `CompiledRole` finds by look-up. */
export function allowsOnResource(rule: AskedRule, { verb, group, name }: ResourceAttributes): boolean {
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && has(rule.names, name);
}

export function allowsPath(rule: PolicyRule, verb: string, path: string): boolean {
  const { verbs, nonResourceURLs = [] } = rule;
  if (!verbs.includes(verb) && !verbs.includes('*')) return false;
  return nonResourceURLs.some((pattern) => coversPath(pattern, path));
}

/** As a rule would have to name what is asked for: `pods/log`, `*` with `/log` behind it or `*`. */
export function resourcePatterns(resource: string, subresource: string): readonly string[] {
  return subresource === '' ? [resource, '*'] : [`${resource}/${subresource}`, `*/${subresource}`, '*'];
}

/** `other` may be a path or a pattern itself. */
export function coversPath(pattern: string, other: string): boolean {
  return pattern === '*' || pattern === other || (pattern.endsWith('*') && other.startsWith(pattern.slice(0, -1)));
}

/** Pieces that differ only in their verb become one rule again, as refusals show them. */
export function joinPieces(pieces: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule & { verbs: string[] }>();
  const seen = new Set<string>();
  for (const piece of pieces) {
    const { verbs, ...rest } = piece;
    const whole = JSON.stringify(piece);
    if (seen.has(whole)) continue;
    seen.add(whole);
    const key = piece.nonResourceURLs ? whole : JSON.stringify(rest);
    const known = joined.get(key);
    if (known) for (const verb of verbs) known.verbs.push(verb);
    else joined.set(key, { ...rest, verbs: [...verbs] });
  }
  return [...joined.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}` */
export function showRule({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts: [string, readonly string[] | undefined][] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  const shown = parts.filter(([, values]) => isFilled(values)).map(([name, values]) => `${name}:${showList(values!)}`);
  return `{${shown.join(', ')}}`;
}

/** Quoted, with spaces between, as kube-apiserver prints lists. */
export function showList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
}

export function isFilled<T>(values: readonly T[] | undefined): values is readonly T[] {
  return values !== undefined && values.length > 0;
}
