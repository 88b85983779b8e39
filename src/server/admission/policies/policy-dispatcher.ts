/**
 * From a request to the policies that are to judge it: which match, through which bindings, with which parameters.
 * What keeps a policy from being asked is collected with it, for its failure policy to decide.
 */
import type { KubeObject } from '../../../api/index.ts';
import type { Authorizer } from '../../auth/authorizer.ts';
import type { Resource } from '../../registry/resource.ts';
import type { AdmissionAttributes } from '../admission.ts';
import type { ExpressionTimer } from '../expressions/evaluation.ts';
import { KnownRights } from '../expressions/known-rights.ts';
import type { Matched } from '../expressions/request-values.ts';
import { collectParams, type ParamKind, type ParamStore, paramResource } from './params.ts';
import type { PolicyBinding } from './policy-binding.ts';
import { ConfigurationError } from './policy-errors.ts';
import type { MatchResources, PolicyMatcher } from './policy-matcher.ts';
import type { Hook } from './policy-source.ts';

/** What every policy has. */
export type MatchedPolicy = {
  readonly name: string;
  readonly match: MatchResources;
  readonly paramKind: ParamKind | undefined;
};

/** From the form of one resource to that of another; may have to ask somebody. */
export type ConvertObject = (
  object: KubeObject,
  from: Resource,
  to: Resource,
  signal: AbortSignal,
) => KubeObject | Promise<KubeObject>;

export type DispatchParts = {
  readonly matcher: PolicyMatcher;
  readonly params: ParamStore;
  readonly authorizer: Authorizer;
  readonly convert: ConvertObject;
  readonly timer?: ExpressionTimer;
};

export type Invocation<P> = {
  readonly policy: P;
  readonly binding: PolicyBinding;
  readonly matched: Matched;
  readonly params: readonly (KubeObject | null)[];
};

export type Misconfigured<P> = {
  readonly policy: P;
  /** Absent if it is the policy's own fault. */
  readonly binding?: PolicyBinding;
  readonly why: string;
};

/** In order; one fault of the policy, or any number of its bindings and their faults. */
export async function* invocationsOf<P extends MatchedPolicy>(
  hooks: readonly Hook<P>[],
  a: AdmissionAttributes,
  { matcher, params }: DispatchParts,
): AsyncGenerator<Invocation<P> | Misconfigured<P>, void, void> {
  for (const { policy, bindings } of hooks) {
    const matching = matcher.match(policy.match, a);
    const matched = matching === undefined ? undefined : await matching;
    if (!matched) continue;
    const resource = policy.paramKind && (await attempt(() => paramResource(policy.paramKind!, params)));
    if (resource instanceof ConfigurationError) {
      yield { policy, why: `failed to configure policy: ${resource.message}` };
      continue;
    }
    for (const binding of bindings) {
      if (binding.match && !(await matcher.match(binding.match, a))) continue;
      const found = await attempt(() => collectParams(resource, binding.paramRef, a, params));
      if (found instanceof ConfigurationError)
        yield { policy, binding, why: `failed to configure binding: ${found.message}` };
      else yield { policy, binding, matched, params: found };
    }
  }
}

async function attempt<T>(run: () => T | Promise<T>): Promise<T | ConfigurationError> {
  try {
    return await run();
  } catch (err) {
    if (err instanceof ConfigurationError) return err;
    throw err;
  }
}

export function rightsOf({ authorizer }: DispatchParts, { user }: AdmissionAttributes): KnownRights {
  return new KnownRights(authorizer, user);
}

/** An object in the version that the policy matched. */
export async function convertedTo(
  { resource: to, kind }: Matched,
  object: KubeObject | undefined,
  { resource: from, kind: asked, signal }: AdmissionAttributes,
  { convert }: DispatchParts,
): Promise<KubeObject | undefined> {
  if (!object || to === from || asked.kind !== from.kind || kind.kind !== to.kind) return object;
  return convert(object, from, to, signal);
}
