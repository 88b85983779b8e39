/** The match conditions of webhooks: compiled once per list of them, judged without parameters and variables. */
import type { Authorizer } from '../../auth/authorizer.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { KnownRights } from './known-rights.ts';
import { type ConditionsVerdict, type ConditionText, MatchConditions } from './match-conditions.ts';
import { PolicyVariables } from './policy-variables.ts';
import { type Matched, type RequestObjects, RequestValues } from './request-values.ts';

export type JudgeConditions = (
  conditions: readonly ConditionText[],
  attributes: AdmissionAttributes,
  matched: Matched,
  objects: RequestObjects,
) => Promise<ConditionsVerdict>;

const surroundings = { hasParams: false };
const noVariables = new PolicyVariables([], surroundings);

export function webhookConditions(authorizer: Authorizer): JudgeConditions {
  const compiled = new WeakMap<readonly ConditionText[], MatchConditions>();
  return (conditions, attributes, matched, objects) => {
    let found = compiled.get(conditions);
    if (!found) {
      found = new MatchConditions(conditions, () => surroundings);
      compiled.set(conditions, found);
    }
    const rights = new KnownRights(authorizer, attributes.user);
    return found.judge({
      request: new RequestValues(attributes, matched, objects, rights),
      params: null,
      variables: noVariables,
      slices: new WorkSlices(attributes),
    });
  };
}
