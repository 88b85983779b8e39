import { expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

function budgetOf(totalBytes: number) {
  const budget = new ByteBudget({ totalBytes });
  const lost: string[] = [];
  const hold = (username: string, name = username) => budget.hold({ username }, () => lost.push(name));
  return { budget, lost, hold };
}

it('grants bytes up to the limit, and takes them back once', () => {
  const { budget, hold } = budgetOf(100);
  const one = hold('a');
  expect([one.add(60), hold('a').add(41), one.add(40)]).toEqual([true, false, true]);
  expect(budget.heldBytes).toBe(100);
  one.release();
  one.release();
  expect(budget.heldBytes).toBe(0);
  expect(hold('a').add(100)).toBe(true);
});

it('lets one holder that is alone have more than there is, and nobody beside it', () => {
  const { hold } = budgetOf(100);
  const one = hold('a');
  expect([one.add(90), one.add(90), hold('a').add(1)]).toEqual([true, true, false]);
});

it('refuses the newest of who holds most, and takes the oldest of theirs for who holds less', () => {
  const { budget, lost, hold } = budgetOf(100);
  for (let i = 0; i < 5; i++) expect(hold('greedy', `greedy ${i}`).add(20)).toBe(true);
  expect(hold('greedy').add(20)).toBe(false);
  expect(lost).toEqual([]);
  expect(hold('small').add(30)).toBe(true);
  expect(lost).toEqual(['greedy 0', 'greedy 1']);
  expect(budget.heldBytes).toBe(90);
  // An equal share is all that can be taken from others.
  expect(hold('small').add(40)).toBe(false);
  expect(hold('third').add(30)).toBe(true);
  expect(lost).toEqual(['greedy 0', 'greedy 1', 'greedy 2']);
});

it('never refuses who holds less than an equal share, whatever others do', () => {
  const { hold, lost } = budgetOf(1000);
  for (let user = 0; user < 9; user++) for (let i = 0; i < 100; i++) hold(`user ${user}`).add(11);
  const before = lost.length;
  expect(hold('late').add(99)).toBe(true);
  expect(lost.length).toBeGreaterThan(before);
});
