/**
 * Expressions of CEL, compiled once and run as often as one likes. Types are checked when an expression is compiled: a
 * field that is not declared, a function that there is not, an operator that does not go with its operands do not
 * compile. A run is told its variables and its budget; it ends with a value, with a CelError that says why there is
 * none, or with a BudgetError.
 */

import { Compiler } from './compiler/compiler.ts';
import { baseEnvironment, type Environment } from './compiler/environment.ts';
import { Frame, type Scope } from './compiler/scope.ts';
import { estimateCost, type LengthAt } from './cost/estimate-cost.ts';
import { parseExpression } from './syntax/parser.ts';
import { ExpressionError } from './syntax/syntax.ts';
import type { Budget } from './values/budget.ts';
import type { CelType } from './values/types.ts';
import type { Value } from './values/values.ts';

export type Variable = { readonly name: string; readonly type: CelType };

export type Program = {
  readonly type: CelType;
  /** The variables that it asks for, and those of their fields that it names: `a`, `a.b`. */
  readonly uses: ReadonlySet<string>;
  /** Values in the order in which the variables were declared. */
  readonly run: (values: readonly Value[], budget: Budget) => Value;
};

/** An expression, and what it may cost at most, given how long the values that it reads may be. */
export type CostedProgram = { readonly program: Program; readonly mostCost: (lengthAt: LengthAt) => number };

/** What does not compile is an ExpressionError. */
export function compileExpression(
  text: string,
  variables: readonly Variable[],
  environment: Environment = baseEnvironment(),
): Program {
  return compileCosted(text, variables, environment).program;
}

/** The same for who wants to know the cost before anything runs; the tree is kept as long as the answer. */
export function compileCosted(
  text: string,
  variables: readonly Variable[],
  environment: Environment = baseEnvironment(),
): CostedProgram {
  const compiler = new Compiler(variables.length, environment);
  let scope: Scope | undefined;
  for (const [slot, { name, type }] of variables.entries()) scope = { name, type, slot, outer: scope };
  const expression = parseExpression(text);
  const { type, run } = compiler.compile(expression, scope);
  if (compiler.faults.length > 0) throw new ExpressionError(text, compiler.faults);
  const { slots, used, types } = compiler;
  return {
    program: { type, uses: used, run: (values, budget) => run(new Frame(values, slots, budget)) },
    mostCost: (lengthAt) => estimateCost(expression, (part) => types.get(part), lengthAt),
  };
}
