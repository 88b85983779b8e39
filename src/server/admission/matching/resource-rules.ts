/**
 * Whether a request is one that the rules of a webhook or policy name: by operation, group, version, resource with
 * subresource, and scope. Pure. `*` stands for anything but, among resources, a subresource: `*` is all resources
 * themselves, `pods/*` pods with all their subresources, a slash between two stars everything.
 */
import type { AdmissionOperation } from '../admission.ts';

export type ResourceRule = {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly scope?: string;
};

export type RuledRequest = {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Of the request; a Namespace counts as being in none. */
  readonly namespace: string;
};

export function ruleMatches(rule: ResourceRule, request: RuledRequest): boolean {
  return (
    namesOne(rule.operations, request.operation) &&
    namesOne(rule.apiGroups, request.group) &&
    namesOne(rule.apiVersions, request.version) &&
    scopeMatches(rule.scope, request) &&
    resourceMatches(rule.resources, request)
  );
}

function namesOne(named: readonly string[] = [], wanted: string): boolean {
  return named.some((one) => one === '*' || one === wanted);
}

function scopeMatches(scope: string | undefined, { group, resource, namespace }: RuledRequest): boolean {
  if (scope === undefined || scope === '*') return true;
  const isCluster = namespace === '' || (group === '' && resource === 'namespaces');
  return scope === 'Cluster' ? isCluster : scope === 'Namespaced' && !isCluster;
}

function resourceMatches(named: readonly string[] = [], { resource, subresource }: RuledRequest): boolean {
  return named.some((one) => {
    const slash = one.indexOf('/');
    const [main, sub] = slash < 0 ? [one, ''] : [one.slice(0, slash), one.slice(slash + 1)];
    return (main === '*' || main === resource) && (sub === '*' || sub === subresource);
  });
}
