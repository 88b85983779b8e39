/**
 * The variables of a policy. Each can see those before it; one is worked out when the first expression that names it is
 * about to run, once for all of them, and counts, with its errors and its cost, only where it is really asked for.
 *
 * Always true: variables are worked out in their order, those that another one needs before it, so that a long chain of
 * them is no deep recursion, and others have their turn between two of them.
 */
import { Budget, BudgetError } from '../../cel/values/budget.ts';
import type { CelType } from '../../cel/values/types.ts';
import { CelError, type Value } from '../../cel/values/values.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { type Surroundings, variableType } from '../../kinds/admissionregistration/expressions.ts';
import { type CostBudget, LIMIT_EXPRESSION_COST, LIMIT_POLICY_COST, OutOfBudgetError } from './cost-budget.ts';
import { StoredExpression } from './stored-expression.ts';

export type VariableText = { readonly name: string; readonly expression: string };

/** As the policy has them. */
export class PolicyVariables {
  readonly #expressions = new Map<string, StoredExpression>();
  readonly #needs = new Map<string, ReadonlySet<string>>();
  readonly #types = new Map<string, CelType>();
  readonly #places = new Map<string, number>();
  #compiled: Promise<void> | undefined;

  constructor(variables: readonly VariableText[], surroundings: Surroundings) {
    const seen = () => ({ ...surroundings, variables: this.#types });
    for (const [place, { name, expression }] of variables.entries()) {
      this.#expressions.set(name, new StoredExpression(expression, seen));
      this.#places.set(name, place);
    }
  }

  /** Must be over before anything that may name a variable is compiled. Done once, whoever asks. */
  compile(): Promise<void> | undefined {
    if (this.#expressions.size > 0) this.#compiled ??= this.#compileAll();
    return this.#compiled;
  }

  async #compileAll(): Promise<void> {
    const slices = new WorkSlices();
    for (const [name, { program }] of this.#expressions) {
      const isGood = typeof program !== 'string';
      this.#types.set(name, variableType(isGood ? program.type : undefined));
      this.#needs.set(name, isGood ? this.namedIn(program.uses) : new Set());
      if (slices.isOver) await slices.pause();
    }
  }

  get types(): ReadonlyMap<string, CelType> {
    return this.#types;
  }

  /** `uses` of a program. */
  namedIn(uses: ReadonlySet<string>): ReadonlySet<string> {
    const named = new Set<string>();
    for (const use of uses) {
      const name = use.startsWith('variables.') ? use.slice('variables.'.length) : '';
      if (this.#expressions.has(name)) named.add(name);
    }
    return named;
  }

  /** With all that they need themselves, in their order, but for those that are known: what these need is known too. */
  closure(names: ReadonlySet<string>, isKnown: (name: string) => boolean): string[] {
    const all = new Set<string>();
    const open = [...names];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (all.has(name) || isKnown(name)) continue;
      all.add(name);
      for (const needed of this.#needs.get(name) ?? []) open.push(needed);
    }
    return [...all].sort((a, b) => this.#places.get(a)! - this.#places.get(b)!);
  }

  expression(name: string): StoredExpression | undefined {
    return this.#expressions.get(name);
  }
}

type Worked = { readonly value: Value; readonly error?: string; readonly cost: number; isPaid: boolean };

/** Their values on one request, in one evaluation. */
export class VariableValues extends Map<string, Value> {
  readonly #variables: PolicyVariables;
  readonly #valuesFor: (uses: ReadonlySet<string>, variables: VariableValues) => Value[];
  readonly #budget: CostBudget;
  readonly #worked = new Map<string, Worked>();
  /** What was worked out and nobody has asked for yet may not cost more than all that is asked for. */
  #unpaid = LIMIT_POLICY_COST;

  constructor(
    variables: PolicyVariables,
    valuesFor: (uses: ReadonlySet<string>, variables: VariableValues) => Value[],
    budget: CostBudget,
  ) {
    super();
    this.#variables = variables;
    this.#valuesFor = valuesFor;
    this.#budget = budget;
  }

  /** Those that a program may ask for. May be suspended, and called again. */
  async prepare(uses: ReadonlySet<string>, slices: WorkSlices): Promise<void> {
    const named = this.#variables.namedIn(uses);
    for (const name of this.#variables.closure(named, (known) => this.#worked.has(known))) {
      this.#work(name);
      if (slices.isOver) await slices.pause();
    }
  }

  override has(name: string): boolean {
    return this.#variables.expression(name) !== undefined;
  }

  override get(name: string): Value {
    if (!this.has(name)) return undefined;
    const worked = this.#worked.get(name) ?? this.#work(name);
    if (!worked.isPaid) {
      worked.isPaid = true;
      this.#unpaid += worked.cost;
      this.#budget.spend(worked.cost);
    }
    if (worked.error !== undefined) throw new CelError(worked.error);
    return worked.value;
  }

  #work(name: string): Worked {
    const { program } = this.#variables.expression(name)!;
    const shown = JSON.stringify(name);
    if (typeof program === 'string')
      return this.#keep(name, { error: `composited variable ${shown} fails to compile: ${program}` }, 0);
    const budget = new Budget(LIMIT_EXPRESSION_COST);
    try {
      const value = program.run(this.#valuesFor(program.uses, this), budget);
      return this.#keep(name, { value }, budget.spent);
    } catch (err) {
      if (err instanceof OutOfBudgetError || !(err instanceof CelError || err instanceof BudgetError)) throw err;
      const error = `composited variable ${shown} fails to evaluate: ${err.message}`;
      return this.#keep(name, { error }, budget.spent);
    }
  }

  #keep(name: string, found: { readonly value?: Value; readonly error?: string }, cost: number): Worked {
    const worked = {
      value: found.value,
      ...(found.error !== undefined && { error: found.error }),
      cost,
      isPaid: false,
    };
    this.#worked.set(name, worked);
    this.#unpaid -= cost;
    if (this.#unpaid < 0) throw new OutOfBudgetError();
    return worked;
  }
}
