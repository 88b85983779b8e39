/**
 * What a role allows: rules, and two questions about them. Does a rule allow this request? Do these rules cover those?
 *
 * Always true: a rule is about resources or about paths, never both; `*` stands for everything, and in a path only at
 * its end. Names restrict a rule to requests that name an object, so they never allow a create or a whole list.
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

/** All but the resource itself, which `CompiledRole` finds by look-up. */
export function allowsOnResource(rule: PolicyRule, { verb, group, name }: ResourceAttributes): boolean {
  const { verbs, apiGroups, resourceNames } = rule;
  return (
    hasOrAll(verbs, verb) && hasOrAll(apiGroups, group) && (!isFilled(resourceNames) || resourceNames.includes(name))
  );
}

export function allowsPath(rule: PolicyRule, verb: string, path: string): boolean {
  return hasOrAll(rule.verbs, verb) && (rule.nonResourceURLs ?? []).some((pattern) => coversPath(pattern, path));
}

/** As a rule would have to name what is asked for: `pods/log`, `*` with `/log` behind it or `*`. */
export function resourcePatterns(resource: string, subresource: string): readonly string[] {
  return subresource === '' ? [resource, '*'] : [`${resource}/${subresource}`, `*/${subresource}`, '*'];
}

/** What of `wanted` no rule of `held` gives, in the smallest pieces. */
export function missingFrom(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(piecesOf).filter((piece) => !held.some((rule) => covers(rule, piece)));
}

/** Pieces that differ only in their verb become one rule again, as refusals show them. */
export function joinPieces(pieces: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule & { verbs: string[] }>();
  for (const piece of pieces) {
    const { verbs, ...rest } = piece;
    const key = piece.nonResourceURLs ? JSON.stringify(piece) : JSON.stringify(rest);
    const known = joined.get(key);
    if (known) known.verbs.push(...verbs.filter((verb) => !known.verbs.includes(verb)));
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

/** Quoted, with spaces between, as the reference server prints lists. */
export function showList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
}

function piecesOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  const names = isFilled(resourceNames) ? resourceNames : [undefined];
  for (const group of apiGroups ?? [])
    for (const resource of resources ?? [])
      for (const verb of verbs)
        for (const name of names)
          pieces.push({
            verbs: [verb],
            apiGroups: [group],
            resources: [resource],
            ...(name !== undefined && { resourceNames: [name] }),
          });
  for (const url of nonResourceURLs ?? [])
    for (const verb of verbs) pieces.push({ verbs: [verb], nonResourceURLs: [url] });
  return pieces;
}

function covers(rule: PolicyRule, piece: PolicyRule): boolean {
  if (!hasOrAll(rule.verbs, piece.verbs[0]!)) return false;
  const url = piece.nonResourceURLs?.[0];
  if (url !== undefined) return (rule.nonResourceURLs ?? []).some((pattern) => coversPath(pattern, url));
  if (!hasOrAll(rule.apiGroups, piece.apiGroups![0]!)) return false;
  const [resource = '', subresource = ''] = splitResource(piece.resources![0]!);
  const patterns = resourcePatterns(resource, subresource);
  if (!(rule.resources ?? []).some((pattern) => patterns.includes(pattern))) return false;
  const name = piece.resourceNames?.[0];
  return !isFilled(rule.resourceNames) || (name !== undefined && rule.resourceNames.includes(name));
}

function splitResource(text: string): string[] {
  const slash = text.indexOf('/');
  return slash < 0 ? [text] : [text.slice(0, slash), text.slice(slash + 1)];
}

/** `other` may be a path or a pattern itself. */
function coversPath(pattern: string, other: string): boolean {
  return pattern === '*' || pattern === other || (pattern.endsWith('*') && other.startsWith(pattern.slice(0, -1)));
}

function hasOrAll(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes(value) || values.includes('*'));
}

function isFilled<T>(values: readonly T[] | undefined): values is readonly T[] {
  return values !== undefined && values.length > 0;
}
