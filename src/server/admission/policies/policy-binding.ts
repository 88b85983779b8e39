/** A binding of a policy, read once: which policy, where, with which parameters, and what follows a refusal. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { objectAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { type ParamRef, readParamRef } from './params.ts';
import { type MatchResources, readMatchResources } from './policy-matcher.ts';

export type PolicyBinding = {
  readonly name: string;
  readonly policyName: string;
  /** Undefined: wherever the policy matches. */
  readonly match: MatchResources | undefined;
  readonly paramRef: ParamRef | undefined;
  /** Deny, Warn, Audit; of a mutating policy none. */
  readonly actions: readonly string[];
};

export function readBinding(binding: KubeObject): PolicyBinding {
  const spec = objectAt(binding as unknown as JsonObject, 'spec') ?? {};
  const match = objectAt(spec, 'matchResources');
  return {
    name: binding.metadata.name ?? '',
    policyName: textAt(spec, 'policyName'),
    match: match && readMatchResources(match),
    paramRef: readParamRef(spec),
    actions: textsAt(spec, 'validationActions'),
  };
}
