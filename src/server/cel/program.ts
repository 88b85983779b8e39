/**
 * Expressions of CEL, compiled once and run as often as one likes. Types are checked when an expression is compiled: a
 * field that is not declared, a function that there is not, an operator that does not go with its operands do not
 * compile. A run is told its variables and its budget; it ends with a value, with a CelError that says why there is
 * none, or with a BudgetError.
 */

import { Compiler } from './compiler/compiler.ts';
import { baseEnvironment, type Environment } from './compiler/environment.ts';
import { Frame, type Scope } from './compiler/scope.ts';
import { parseExpression } from './syntax/parser.ts';
import { ExpressionError, ExpressionFault } from './syntax/syntax.ts';
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

/** What does not compile is an ExpressionError. */
export function compileExpression(
  text: string,
  variables: readonly Variable[],
  environment: Environment = baseEnvironment(),
): Program {
  const compiler = new Compiler(variables.length, environment);
  try {
    let scope: Scope | undefined;
    for (const [slot, { name, type }] of variables.entries()) scope = { name, type, slot, outer: scope };
    const { type, run } = compiler.compile(parseExpression(text), scope);
    if (compiler.faults.length > 0) throw new ExpressionError(text, compiler.faults);
    const { slots, used } = compiler;
    return { type, uses: used, run: (values, budget) => run(new Frame(values, slots, budget)) };
  } catch (err) {
    if (err instanceof ExpressionFault) throw new ExpressionError(text, [err]);
    throw err;
  }
}
