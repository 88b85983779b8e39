/**
 * What the expressions of one policy may cost together on one request, in the units of kube-apiserver: one for every
 * step. Each expression has a limit of its own besides. What is spent ends the evaluation then and there.
 */
import { BudgetError } from '../../cel/values/budget.ts';

/** Of one expression: kube-apiserver's figure for a tenth of a second. */
export const LIMIT_EXPRESSION_COST = 1_000_000;
/** Of all validations, or all mutations, of a policy with one parameter. */
export const LIMIT_POLICY_COST = 10_000_000;
/** Of all match conditions of a webhook or policy. */
export const LIMIT_CONDITIONS_COST = 2_500_000;

/** Nothing that still is to run will run. */
export class OutOfBudgetError extends BudgetError {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

export class CostBudget {
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  get left(): number {
    return this.#left;
  }

  spend(cost: number): void {
    this.#left -= cost;
    if (this.#left < 0) throw new OutOfBudgetError();
  }
}
