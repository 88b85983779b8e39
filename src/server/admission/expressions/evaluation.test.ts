import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { bool } from '../../cel/values/types.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { CostBudget, LIMIT_POLICY_COST, OutOfBudgetError } from './cost-budget.ts';
import { Evaluation } from './evaluation.ts';
import { PolicyVariables, type VariableText } from './policy-variables.ts';
import type { RequestValues } from './request-values.ts';
import { StoredExpression } from './stored-expression.ts';

/** Some hundred thousand units of work. */
const WORK = '[1,2,3,4,5,6,7,8,9]'.concat(
  ...['a', 'b', 'c', 'd'].map((name) => `.all(${name}, [1,2,3,4,5,6,7,8,9]`),
  '.all(e, true)))))',
);

function evaluation(variables: readonly VariableText[], limit = LIMIT_POLICY_COST) {
  const surroundings = { hasParams: false };
  const declared = new PolicyVariables(variables, surroundings);
  const request = {
    for: (uses: ReadonlySet<string>, _params: unknown, values: unknown) => [
      ...new Array(7).fill(undefined),
      uses.has('variables') ? values : undefined,
    ],
  } as unknown as RequestValues;
  const budget = new CostBudget(limit);
  const slices = new WorkSlices();
  const run = new Evaluation({ request, params: null, variables: declared, hasRights: true, budget, slices });
  const of = (text: string) =>
    new StoredExpression(text, () => ({ ...surroundings, variables: declared.types }), [bool]);
  return { run: (text: string) => run.run(of(text)), budget };
}

it('a variable is worked out once, and paid for by the first who asks', async () => {
  const { run, budget } = evaluation([{ name: 'v', expression: WORK }]);
  await run('variables.v');
  const spent = LIMIT_POLICY_COST - budget.left;
  expect(spent).toBeGreaterThan(100_000);
  await run('variables.v');
  expect(LIMIT_POLICY_COST - budget.left - spent).toBeLessThan(10);
});

it('a variable that is named and not asked for is not paid for', async () => {
  const { run, budget } = evaluation([{ name: 'v', expression: WORK }]);
  expect(await run('true || variables.v')).toEqual({ kind: 'value', value: true });
  expect(LIMIT_POLICY_COST - budget.left).toBeLessThan(10);
});

it('variables that nobody asks for may not cost more than all that is asked for', async () => {
  const variables = Array.from({ length: 100 }, (_, i) => ({ name: `v${i}`, expression: WORK }));
  const { run } = evaluation(variables);
  const all = variables.map(({ name }) => `variables.${name}`).join(' && ');
  await expect(run(`true || (${all})`)).rejects.toBeInstanceOf(OutOfBudgetError);
});

function chain(length: number): VariableText[] {
  return Array.from({ length }, (_, i) => ({
    name: `v${i}`,
    expression: i === 0 ? 'true' : `variables.v${i - 1} && true`,
  }));
}

it('a chain of ten thousand variables is no deep recursion', async () => {
  const { run } = evaluation(chain(10_000));
  expect(await run('variables.v9999')).toEqual({ kind: 'value', value: true });
});

it('variables take time in proportion to their number, however many expressions name them', async () => {
  await expectLinear('variables of a policy', {
    make: (size) => size,
    run: async (size) => {
      const { run } = evaluation(chain(size));
      for (let i = 0; i < size; i += 10) await run(`variables.v${i}`);
    },
    from: 100,
    limit: 4_000,
  });
});

it('two requests that come at once compile the variables once', async () => {
  const { run } = evaluation(chain(3_000));
  const [first, second] = await Promise.all([run('variables.v2999'), run('variables.v2999 && true')]);
  expect([first, second]).toEqual([
    { kind: 'value', value: true },
    { kind: 'value', value: true },
  ]);
});

it('others have their turn between expressions, and between the variables of one', async () => {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await nextTurn();
      turns++;
    }
  })();
  const variables = Array.from({ length: 20 }, (_, i) => ({ name: `v${i}`, expression: WORK }));
  const all = variables.map(({ name }) => `variables.${name}`).join(' && ');
  for (let i = 0; i < 10; i++) await evaluation(variables).run(all);
  const within = turns;
  const { run } = evaluation([], LIMIT_POLICY_COST * 100);
  for (let i = 0; i < 100; i++) await run(WORK);
  isOver = true;
  await counting;
  expect(within).toBeGreaterThan(5);
  expect(turns - within).toBeGreaterThan(3);
});

it('a variable that fails fails for everybody, and others may pass it over', async () => {
  const { run } = evaluation([{ name: 'v', expression: '1 / 0 == 1' }]);
  const why = 'composited variable "v" fails to evaluate: division by zero';
  expect(await run('variables.v')).toMatchObject({ why: `expression 'variables.v' resulted in error: ${why}` });
  expect(await run('variables.v || true')).toEqual({ kind: 'value', value: true });
});
