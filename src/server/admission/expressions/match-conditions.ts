/**
 * The match conditions of a webhook or policy: one that is false decides, whatever the others come to; one that cannot
 * be worked out is an error of them all.
 */
import { bool } from '../../cel/values/types.ts';
import type { Surroundings } from '../../kinds/admissionregistration/expressions.ts';
import { CostBudget, LIMIT_CONDITIONS_COST, OutOfBudgetError } from './cost-budget.ts';
import { Evaluation, type EvaluationParts } from './evaluation.ts';
import { StoredExpression } from './stored-expression.ts';

export type ConditionText = { readonly name: string; readonly expression: string };

/** With an error it is for the failure policy to say what becomes of the request. */
export type ConditionsVerdict = { readonly isMatch: boolean; readonly error?: string };

const MATCH: ConditionsVerdict = { isMatch: true };
const NO_MATCH: ConditionsVerdict = { isMatch: false };

export class MatchConditions {
  readonly #expressions: readonly StoredExpression[];

  constructor(conditions: readonly ConditionText[], surroundings: () => Surroundings) {
    this.#expressions = conditions.map(({ expression }) => new StoredExpression(expression, surroundings, [bool]));
  }

  async judge(parts: Omit<EvaluationParts, 'budget' | 'hasRights'>): Promise<ConditionsVerdict> {
    if (this.#expressions.length === 0) return MATCH;
    const budget = new CostBudget(LIMIT_CONDITIONS_COST);
    const evaluation = new Evaluation({ ...parts, budget, hasRights: true });
    const errors = new Set<string>();
    let isMatch = true;
    try {
      for (const expression of this.#expressions) {
        const outcome = await evaluation.run(expression);
        if (outcome.kind === 'error') errors.add(outcome.why);
        else if (outcome.value !== true) isMatch = false;
      }
    } catch (err) {
      if (!(err instanceof OutOfBudgetError)) throw err;
      return { isMatch: false, error: err.message };
    }
    if (!isMatch) return NO_MATCH;
    if (errors.size === 0) return MATCH;
    return { isMatch: false, error: errors.size === 1 ? [...errors][0]! : `[${[...errors].join(', ')}]` };
  }
}
