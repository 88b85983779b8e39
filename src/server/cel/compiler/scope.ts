/** The names an expression can see, and the room its values stand in while it runs. */

import type { Functions } from '../library/overloads.ts';
import type { Expression } from '../syntax/syntax.ts';
import type { Budget } from '../values/budget.ts';
import type { CelType } from '../values/types.ts';
import type { Value } from '../values/values.ts';

/** The innermost name; the others behind it. */
export type Scope = {
  readonly name: string;
  readonly type: CelType;
  /** Where its value stands in the frame. */
  readonly slot: number;
  readonly outer: Scope | undefined;
};

/** One run: the values of all names, and what is left to spend. */
export class Frame {
  readonly slots: Value[];
  readonly budget: Budget;

  constructor(values: readonly Value[], slots: number, budget: Budget) {
    this.slots = new Array(slots);
    for (let i = 0; i < values.length; i++) this.slots[i] = values[i];
    this.budget = budget;
  }
}

export type Step = (frame: Frame) => Value;
export type Compiled = { readonly type: CelType; readonly run: Step };

/** What the parts of the compiler ask of the whole. */
export type Compiling = {
  /** `takesMixed`: if it is a list, its elements may be of several types. */
  readonly compile: (expression: Expression, scope: Scope | undefined, takesMixed?: boolean) => Compiled;
  readonly declare: (name: string, type: CelType, outer: Scope | undefined) => Scope;
  /** Everything that may be called. */
  readonly functions: Functions;
  /** Notes a fault, and goes on with something that could be anything. */
  readonly fault: (at: number, why: string) => Compiled;
};

/** What an error costs that is passed over: it had to be thrown and caught. */
export const PASSED_ERROR_COST = 15;

export function findName(name: string, scope: Scope | undefined): Scope | undefined {
  for (let one = scope; one; one = one.outer) if (one.name === name) return one;
  return undefined;
}
