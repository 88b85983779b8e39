/** For tests: policies, bindings, parameters and namespaces as tables, and the plugins that go by them. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { type Authorizer, alwaysAllow } from '../../auth/authorizer.ts';
import { convertObject } from '../../kinds/conversion.ts';
import { Registry } from '../../registry/registry.ts';
import type { AdmissionPlugin, ConvertObject } from '../admission.ts';
import { EquivalentResources } from '../matching/equivalent-resources.ts';
import { mutatingPolicies } from './mutating/mutating-plugin.ts';
import { MutatingPolicy } from './mutating/mutating-policy.ts';
import { readBinding } from './policy-binding.ts';
import { PolicyMatcher } from './policy-matcher.ts';
import type { CheckObserver } from './policy-metrics.ts';
import { PolicySource } from './policy-source.ts';
import { validatingPolicies } from './validating/validating-plugin.ts';
import { ValidatingPolicy } from './validating/validating-policy.ts';

export type PolicyTable = {
  /** Specs by name; those with mutations are mutating policies. */
  readonly policies: Readonly<Record<string, JsonObject>>;
  /** Specs by name; none: one that denies for each policy, of its name. */
  readonly bindings?: Readonly<Record<string, JsonObject>>;
  /** By name. */
  readonly namespaces?: Readonly<Record<string, JsonObject>>;
  readonly params?: readonly JsonObject[];
  readonly authorizer?: Authorizer;
  readonly observer?: CheckObserver;
  readonly convert?: ConvertObject;
};

export const everyConfigMap: JsonObject = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
};

export function policyPlugin(table: PolicyTable): AdmissionPlugin {
  const { policies, params = [], namespaces = {}, authorizer = alwaysAllow, observer } = table;
  const bindings =
    table.bindings ??
    Object.fromEntries(Object.keys(policies).map((name) => [name, { policyName: name, validationActions: ['Deny'] }]));
  const registry = new Registry();
  const isIn = (object: JsonObject, namespace: string) =>
    namespace === '' || (object.metadata as JsonObject).namespace === namespace;
  const kindOf = ({ kind, apiVersion }: JsonObject) => `${apiVersion} ${kind}`;
  const of = (groupVersion: string, kind: string, namespace: string) =>
    params.filter(
      (one) => kindOf(one) === `${groupVersion} ${kind}` && isIn(one, namespace),
    ) as unknown as KubeObject[];
  const parts = {
    matcher: new PolicyMatcher(new EquivalentResources(registry), (name) => namespaceOf(name, namespaces[name])),
    authorizer,
    convert: table.convert ?? convertObject,
    params: {
      resourceOf: (apiVersion: string, kind: string) => {
        const [version = '', group = ''] = apiVersion.split('/').reverse();
        return registry.findByKind(group, version, kind);
      },
      get: async ({ groupVersion, kind }: { groupVersion: string; kind: string }, namespace: string, name: string) =>
        of(groupVersion, kind, namespace).find(({ metadata }) => metadata.name === name),
      list: async ({ groupVersion, kind }: { groupVersion: string; kind: string }, namespace: string) =>
        of(groupVersion, kind, namespace),
    },
    ...(observer && { observer }),
  };
  const fail = (line: string) => {
    throw new Error(line);
  };
  const isMutating = Object.values(policies).some(({ mutations }) => mutations !== undefined);
  const fill = <P>(source: PolicySource<P>): PolicySource<P> => {
    for (const [name, spec] of Object.entries(policies)) source.setPolicy(name, objectOf(name, withMatch(spec)));
    for (const [name, spec] of Object.entries(bindings)) source.setBinding(name, objectOf(name, spec));
    return source;
  };
  if (isMutating)
    return mutatingPolicies({
      ...parts,
      policies: fill(new PolicySource((object) => new MutatingPolicy(object), readBinding, fail)),
    });
  return validatingPolicies({
    ...parts,
    policies: fill(new PolicySource((object) => new ValidatingPolicy(object), readBinding, fail)),
  });
}

function withMatch(spec: JsonObject): JsonObject {
  return { matchConstraints: everyConfigMap, ...spec };
}

function objectOf(name: string, spec: JsonObject): KubeObject {
  return { kind: 'Policy', apiVersion: 'v1', metadata: { name }, spec } as unknown as KubeObject;
}

function namespaceOf(name: string, labels: JsonObject | undefined): KubeObject {
  return { kind: 'Namespace', apiVersion: 'v1', metadata: { name, labels: labels ?? {} } } as unknown as KubeObject;
}
