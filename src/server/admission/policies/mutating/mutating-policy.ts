/**
 * A MutatingAdmissionPolicy, read once, and what it makes of one object with one parameter: its mutations in order, each
 * on what the one before left. Each has a budget of its own.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { jsonValue } from '../../../cel/values/json-values.ts';
import { CelError, type Value } from '../../../cel/values/values.ts';
import type { WorkSlices } from '../../../event-loop/work-slices.ts';
import { typesOfPatch } from '../../../kinds/admissionregistration/mutations.ts';
import type { Schema } from '../../../schema/schema.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { CostBudget, LIMIT_POLICY_COST, OutOfBudgetError } from '../../expressions/cost-budget.ts';
import { Evaluation, type ExpressionTimer } from '../../expressions/evaluation.ts';
import { type ConditionsVerdict, type ConditionText, MatchConditions } from '../../expressions/match-conditions.ts';
import { PolicyVariables, type VariableText } from '../../expressions/policy-variables.ts';
import type { RequestValues } from '../../expressions/request-values.ts';
import { StoredExpression } from '../../expressions/stored-expression.ts';
import { type ParamKind, readParamKind } from '../params.ts';
import { type MatchResources, readMatchResources } from '../policy-matcher.ts';
import { applyConfiguration } from './apply-configuration.ts';
import { applyJsonPatch } from './json-patch-mutation.ts';
import { MutationError } from './mutation-error.ts';

export type Mutation = { readonly expression: StoredExpression; readonly isJsonPatch: boolean };

/** What a mutation works with. */
export type MutationInput = {
  readonly request: RequestValues;
  readonly param: KubeObject | null;
  readonly slices: WorkSlices;
  readonly timer?: ExpressionTimer | undefined;
};

export class MutatingPolicy {
  readonly name: string;
  readonly match: MatchResources;
  readonly paramKind: ParamKind | undefined;
  readonly failsOpen: boolean;
  readonly isReinvocable: boolean;
  readonly mutations: readonly Mutation[];
  readonly #variables: PolicyVariables;
  readonly #conditions: MatchConditions;

  constructor(policy: KubeObject) {
    const spec = objectAt(policy as unknown as JsonObject, 'spec') ?? {};
    this.name = policy.metadata.name ?? '';
    this.match = readMatchResources(objectAt(spec, 'matchConstraints') ?? {});
    this.paramKind = readParamKind(spec);
    this.failsOpen = textAt(spec, 'failurePolicy') === 'Ignore';
    this.isReinvocable = textAt(spec, 'reinvocationPolicy') === 'IfNeeded';
    const surroundings = { hasParams: this.paramKind !== undefined };
    this.#variables = new PolicyVariables(objectsAt(spec, 'variables') as unknown as VariableText[], surroundings);
    const seen = () => ({ ...surroundings, variables: this.#variables.types });
    this.#conditions = new MatchConditions(objectsAt(spec, 'matchConditions') as unknown as ConditionText[], seen);
    this.mutations = objectsAt(spec, 'mutations').map((mutation) => {
      const isJsonPatch = textAt(mutation, 'patchType') === 'JSONPatch';
      const text = textAt(objectAt(mutation, isJsonPatch ? 'jsonPatch' : 'applyConfiguration'), 'expression');
      const wanted = typesOfPatch[isJsonPatch ? 'JSONPatch' : 'ApplyConfiguration']!;
      const expression = new StoredExpression(text, () => ({ ...seen(), hasPatchTypes: true }), [wanted]);
      return { expression, isJsonPatch };
    });
  }

  conditions({ request, param, slices, timer }: MutationInput): Promise<ConditionsVerdict> {
    return this.#conditions.judge({ request, slices, timer, params: paramValue(param), variables: this.#variables });
  }

  /** The object with the mutation; the same if it changes nothing. What cannot be made is a MutationError. */
  async mutate(
    { expression, isJsonPatch }: Mutation,
    object: JsonObject,
    schema: Schema,
    { request, param, slices, timer }: MutationInput,
  ): Promise<JsonObject> {
    const budget = new CostBudget(LIMIT_POLICY_COST);
    const parts = {
      request,
      slices,
      timer,
      params: paramValue(param),
      variables: this.#variables,
      budget,
      hasRights: true,
    };
    try {
      const outcome = await new Evaluation(parts).run(expression);
      if (outcome.kind === 'error')
        throw new MutationError(outcome.isCompileError ? outcome.why.replace('compilation error: ', '') : outcome.why);
      return isJsonPatch ? applyJsonPatch(object, outcome.value) : applyConfiguration(object, outcome.value, schema);
    } catch (err) {
      if (err instanceof OutOfBudgetError || err instanceof CelError) throw new MutationError(err.message);
      throw err;
    }
  }
}

function paramValue(param: KubeObject | null): Value {
  return jsonValue(param as unknown as JsonObject | null);
}
