/**
 * From a request to the policies that are to judge it: which match, through which bindings, with which parameters.
 * What keeps a policy from being asked is collected with it, for its failure policy to decide.
 */
import type { KubeObject } from '../../../api/index.ts';
import type { Authorizer } from '../../auth/authorizer.ts';
import type { Resource } from '../../registry/resource.ts';
import type { AdmissionAttributes, ConvertObject } from '../admission.ts';
import type { ExpressionTimer } from '../expressions/evaluation.ts';
import { KnownRights } from '../expressions/known-rights.ts';
import type { Matched, RequestObjects } from '../expressions/request-values.ts';
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

/** The objects of one request in the versions that policies match: each is converted once, however many ask for it. */
export class VersionedObjects {
  readonly #a: AdmissionAttributes;
  readonly #convert: ConvertObject;
  readonly #made = new WeakMap<KubeObject, Map<Resource, Promise<KubeObject>>>();

  constructor(a: AdmissionAttributes, { convert }: DispatchParts) {
    this.#a = a;
    this.#convert = convert;
  }

  /** As they are now. What cannot be converted is a ConfigurationError. */
  async in(matched: Matched): Promise<RequestObjects> {
    const { object, oldObject } = this.#a;
    try {
      return { object: await this.#one(matched, object), oldObject: await this.#one(matched, oldObject) };
    } catch (err) {
      this.#a.signal.throwIfAborted();
      throw new ConfigurationError(`failed to convert object version: ${(err as Error).message}`, { cause: err });
    }
  }

  #one({ resource: to, kind }: Matched, object: KubeObject | undefined): KubeObject | undefined | Promise<KubeObject> {
    const { resource: from, kind: asked, signal } = this.#a;
    if (!object || to === from || asked.kind !== from.kind || kind.kind !== to.kind) return object;
    let versions = this.#made.get(object);
    if (!versions) {
      versions = new Map();
      this.#made.set(object, versions);
    }
    let converted = versions.get(to);
    if (!converted) {
      converted = Promise.resolve(this.#convert(object, from, to, signal));
      versions.set(to, converted);
    }
    return converted;
  }
}
