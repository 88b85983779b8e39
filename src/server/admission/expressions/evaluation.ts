/**
 * Runs expressions on one request, one after the other, within one budget. Between two of them others have their turn;
 * one that waits for an answer about rights is run again when it is there.
 *
 * What fails is an outcome in kube-apiserver's words, never an exception, but for a budget that is spent: that ends the
 * evaluation with an OutOfBudgetError.
 */
import { Suspended } from '../../cel/library/authorizer-functions.ts';
import { Budget, BudgetError } from '../../cel/values/budget.ts';
import { CelError, type Value } from '../../cel/values/values.ts';
import type { WorkSlices } from '../../event-loop/work-slices.ts';
import { type CostBudget, LIMIT_EXPRESSION_COST, OutOfBudgetError } from './cost-budget.ts';
import { type PolicyVariables, VariableValues } from './policy-variables.ts';
import type { RequestValues } from './request-values.ts';
import type { StoredExpression } from './stored-expression.ts';

export type Outcome =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'error'; readonly why: string; readonly isCompileError: boolean };

export type EvaluationParts = {
  readonly request: RequestValues;
  /** Null where there is none. */
  readonly params: Value;
  readonly variables: PolicyVariables;
  /** Whether expressions may ask what somebody may do. */
  readonly hasRights: boolean;
  readonly budget: CostBudget;
  readonly slices: WorkSlices;
  readonly timer?: ExpressionTimer | undefined;
};

/** Told how long it took, in seconds. */
export type ExpressionTimer = {
  readonly compiled: (seconds: number) => void;
  readonly evaluated: (seconds: number) => void;
};

export class Evaluation {
  readonly #parts: EvaluationParts;
  readonly #values: VariableValues;

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
    this.#values = new VariableValues(parts.variables, (uses, values) => this.#valuesFor(uses, values), parts.budget);
  }

  async run(expression: StoredExpression): Promise<Outcome> {
    const { variables, slices, budget, timer } = this.#parts;
    await variables.compile();
    const isNew = timer !== undefined && !expression.isCompiled;
    const began = performance.now();
    const { program } = expression;
    if (isNew) timer.compiled((performance.now() - began) / 1000);
    if (typeof program === 'string')
      return { kind: 'error', why: `compilation error: ${program}`, isCompileError: true };
    const outcome = await this.#unsuspended(async () => {
      await this.#values.prepare(program.uses, slices);
      const own = new Budget(LIMIT_EXPRESSION_COST);
      const from = performance.now();
      const found = outcomeOf(expression.text, () => program.run(this.#valuesFor(program.uses, this.#values), own));
      timer?.evaluated((performance.now() - from) / 1000);
      budget.spend(own.spent);
      return found;
    });
    if (slices.isOver) await slices.pause();
    return outcome;
  }

  #valuesFor(uses: ReadonlySet<string>, values: VariableValues): Value[] {
    const { request, params, hasRights } = this.#parts;
    return request.for(uses, params, values, hasRights);
  }

  async #unsuspended<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (err) {
        if (!(err instanceof Suspended)) throw err;
        await err.until;
      }
    }
  }
}

function outcomeOf(text: string, run: () => Value): Outcome {
  try {
    return { kind: 'value', value: run() };
  } catch (err) {
    if (err instanceof OutOfBudgetError || !(err instanceof CelError || err instanceof BudgetError)) throw err;
    return { kind: 'error', why: `expression '${text}' resulted in error: ${err.message}`, isCompileError: false };
  }
}
