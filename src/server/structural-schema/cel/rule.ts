/**
 * One rule, compiled when it is first asked and judged within a budget. What does not compile is a RuleError with the
 * words of kube-apiserver; what fails while it runs is a verdict, never an exception.
 */

import type { RuleText } from '../../../schemas/structural/structural.ts';
import { compileCosted, compileExpression, type Program, type Variable } from '../../cel/program.ts';
import { ExpressionError } from '../../cel/syntax/syntax.ts';
import { Budget, BudgetError } from '../../cel/values/budget.ts';
import { type CelType, optionalOf } from '../../cel/values/types.ts';
import { CelError, Optional, type Value } from '../../cel/values/values.ts';
import { type Lengths, lengthAt } from './value-lengths.ts';

export class RuleError extends Error {
  override readonly name = 'RuleError';
  /** The field of the rule that it is about. */
  readonly field: 'rule' | 'messageExpression';

  constructor(field: 'rule' | 'messageExpression', message: string, options?: ErrorOptions) {
    super(message, options);
    this.field = field;
  }
}

export type Outcome =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'error'; readonly why: string }
  | { readonly kind: 'exceeded'; readonly why: string };

/** What one expression may cost: kube-apiserver's figure for a tenth of a second. */
const LIMIT_CALL_COST = 1_000_000;
const LIMIT_CHARACTERS = 10_000;
/** Of the texts of all rules that are kept compiled; then they are all compiled anew when they are asked. */
const LIMIT_KEPT_CHARACTERS = 1_000_000;

type Compiled = { readonly rule: Program; readonly message: Program | undefined };

const compiled = new Map<Rule, Compiled>();
let keptCharacters = 0;

export class Rule {
  readonly text: RuleText;
  readonly #type: CelType;

  /** `type`: of what the rule is about. */
  constructor(text: RuleText, type: CelType) {
    this.text = text;
    this.#type = type;
  }

  /** Judges a change, not a state. */
  get isTransition(): boolean {
    return this.compile().rule.uses.has('oldSelf');
  }

  judge(self: Value, oldSelf: Value | undefined, budget: Budget): Outcome {
    return this.#run(this.compile().rule, self, oldSelf, budget);
  }

  /** Undefined if the rule has no expression for its message. */
  explain(self: Value, oldSelf: Value | undefined, budget: Budget): Outcome | undefined {
    const { message } = this.compile();
    return message && this.#run(message, self, oldSelf, budget);
  }

  compile(): Compiled {
    let found = compiled.get(this);
    if (!found) {
      found = this.#compile();
      keptCharacters += this.text.rule.length + (this.text.messageExpression?.length ?? 0) + 100;
      if (keptCharacters > LIMIT_KEPT_CHARACTERS) {
        compiled.clear();
        keptCharacters = 0;
      }
      compiled.set(this, found);
    }
    return found;
  }

  /** What it may cost at most to judge a value, and to say what is wrong with it; asked of a rule that compiles. */
  mostCosts(lengths: Lengths): { readonly rule: number; readonly message: number } {
    const { rule, messageExpression } = this.text;
    const variables = this.#variables();
    const most = (text: string) => compileCosted(text, variables).mostCost((path) => lengthAt(lengths, path));
    return { rule: most(rule), message: messageExpression ? most(messageExpression) : 0 };
  }

  #variables(): Variable[] {
    return [
      { name: 'self', type: this.#type },
      { name: 'oldSelf', type: this.text.optionalOldSelf ? optionalOf(this.#type) : this.#type },
    ];
  }

  #compile(): Compiled {
    const { rule, messageExpression } = this.text;
    const variables = this.#variables();
    return {
      rule: compile('rule', rule, variables, 'bool'),
      message: messageExpression ? compile('messageExpression', messageExpression, variables, 'string') : undefined,
    };
  }

  #run(program: Program, self: Value, oldSelf: Value | undefined, budget: Budget): Outcome {
    const old = this.text.optionalOldSelf ? (oldSelf === undefined ? Optional.none : new Optional(oldSelf)) : oldSelf;
    try {
      return { kind: 'value', value: program.run([self, old], budget) };
    } catch (err) {
      if (err instanceof CelError) return { kind: 'error', why: err.message };
      if (err instanceof BudgetError) return { kind: 'exceeded', why: err.message };
      throw err;
    }
  }
}

function compile(field: RuleError['field'], text: string, variables: readonly Variable[], wanted: string): Program {
  const fail = (why: string, cause?: unknown) => new RuleError(field, why, cause === undefined ? {} : { cause });
  if (text.length > LIMIT_CHARACTERS) throw fail(`must not be longer than ${LIMIT_CHARACTERS} characters`);
  try {
    const program = compileExpression(text, variables);
    const { kind } = program.type;
    if (kind === wanted || kind === 'dyn') return program;
    throw fail(`${field === 'rule' ? '' : 'messageExpression '}must evaluate to a ${wanted}`);
  } catch (err) {
    if (err instanceof ExpressionError)
      throw fail(`${field === 'rule' ? '' : 'messageExpression '}compilation failed: ${err.message}`, err);
    throw err;
  }
}

export function callBudget(): Budget {
  return new Budget(LIMIT_CALL_COST);
}
