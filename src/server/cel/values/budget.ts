/**
 * What the work of an expression may cost, in the units of kube-apiserver: one for every step, a tenth for every
 * character touched or made. Whoever works charges before it works, so that nothing is done that is not paid for, and
 * what does not fit ends the expression then and there with a BudgetError, which nothing inside it can catch.
 */
import type { StepMeter } from '../../../schemas/patterns/step-meter.ts';

/** Not an error of the expression: `||` and `exists` pass over those, and never over this. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError';
}

/** What one unit pays for, in states of a pattern that are looked at. */
const STEPS_PER_UNIT = 4;
const CHARACTERS_PER_UNIT = 10;

export class Budget implements StepMeter {
  readonly limit: number;
  spent = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  charge(cost: number): void {
    this.spent += cost;
    if (this.spent > this.limit) throw new BudgetError('operation cancelled: actual cost limit exceeded');
  }

  chargeSteps(steps: number): void {
    this.charge(steps / STEPS_PER_UNIT);
  }
}

/** What it costs to go once through so many characters, bytes or elements. */
export function traversal(count: number): number {
  return Math.ceil(count / CHARACTERS_PER_UNIT);
}
