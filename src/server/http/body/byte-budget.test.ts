import { describe, expect, it } from 'vitest';
import { eventually } from '../../../../test/support/eventually.ts';
import { SeatTable } from '../../workers/seat-table.ts';
import { SharedBytes } from '../../workers/shared-bytes.ts';
import { ByteBudget } from './byte-budget.ts';

const KIBIBYTE = 1024;

/** What so many threads count together. */
function sharedBy(threads: number): { bytes: SharedBytes[]; owner: SeatTable } {
  const memory = SeatTable.memoryFor(threads);
  const tables = Array.from({ length: threads }, (_, thread) => new SeatTable(memory, thread, threads));
  return { bytes: tables.map((table) => SharedBytes.of(table, 'bodies')!), owner: tables[0]! };
}

function holdersOf(budget: ByteBudget) {
  const lost: string[] = [];
  const hold = (username: string, name = username) => budget.hold({ username }, () => lost.push(name));
  return { budget, lost, hold };
}

describe.each([
  ['alone', () => undefined],
  ['of several threads', () => sharedBy(2).bytes[1]],
])('a thread %s', (_claim, shared) => {
  const budgetOf = (totalBytes: number, owedBytes?: number) =>
    holdersOf(new ByteBudget({ totalBytes, ...(owedBytes && { owedBytes }) }, shared()));

  it('grants bytes up to the limit, and takes them back once', () => {
    const { budget, hold } = budgetOf(100 * KIBIBYTE);
    const one = hold('a');
    expect([one.add(60 * KIBIBYTE), hold('a').add(41 * KIBIBYTE), one.add(40 * KIBIBYTE)]).toEqual([true, false, true]);
    expect(budget.heldBytes).toBe(100 * KIBIBYTE);
    one.release();
    one.release();
    expect(budget.heldBytes).toBe(0);
    expect(hold('a').add(100 * KIBIBYTE)).toBe(true);
  });

  it('lets one holder that is alone have more than there is, and nobody beside it', () => {
    const { hold } = budgetOf(100 * KIBIBYTE);
    const one = hold('a');
    expect([one.add(90 * KIBIBYTE), one.add(90 * KIBIBYTE), hold('a').add(1 * KIBIBYTE)]).toEqual([true, true, false]);
  });

  it('refuses the newest of who holds most, and takes the oldest of theirs for who holds less', () => {
    const { budget, lost, hold } = budgetOf(100 * KIBIBYTE);
    for (let i = 0; i < 5; i++) expect(hold('greedy', `greedy ${i}`).add(20 * KIBIBYTE)).toBe(true);
    expect(hold('greedy').add(20 * KIBIBYTE)).toBe(false);
    expect(lost).toEqual([]);
    expect(hold('small').add(30 * KIBIBYTE)).toBe(true);
    expect(lost).toEqual(['greedy 0', 'greedy 1']);
    expect(budget.heldBytes).toBe(90 * KIBIBYTE);
    // An equal share is all that can be taken from others.
    expect(hold('small').add(40 * KIBIBYTE)).toBe(false);
    expect(hold('third').add(30 * KIBIBYTE)).toBe(true);
    expect(lost).toEqual(['greedy 0', 'greedy 1', 'greedy 2']);
  });

  it('never refuses who holds less than an equal share, whatever others do', () => {
    const { hold, lost } = budgetOf(1000 * KIBIBYTE);
    for (let user = 0; user < 9; user++) for (let i = 0; i < 100; i++) hold(`user ${user}`).add(11 * KIBIBYTE);
    const before = lost.length;
    expect(hold('late').add(99 * KIBIBYTE)).toBe(true);
    expect(lost.length).toBeGreaterThan(before);
  });

  it('keeps a part for what is owed, and takes the oldest of whom it is owed when that is used up', () => {
    const { budget, lost, hold } = budgetOf(100 * KIBIBYTE, 20 * KIBIBYTE);
    for (let i = 0; i < 4; i++) expect(hold('a', `read ${i}`).add(20 * KIBIBYTE)).toBe(true);
    expect(hold('a').add(1 * KIBIBYTE)).toBe(false);
    expect(hold('a').add(20 * KIBIBYTE, true)).toBe(true);
    expect([budget.heldBytes, lost]).toEqual([100 * KIBIBYTE, []]);
    expect(hold('a').add(30 * KIBIBYTE, true)).toBe(true);
    expect([budget.heldBytes, lost]).toEqual([90 * KIBIBYTE, ['read 0', 'read 1']]);
    expect(hold('a').add(1 * KIBIBYTE)).toBe(false);
  });

  it('takes nothing of those who hold less for what is owed to who holds more, nor of the answer itself', () => {
    const { budget, lost, hold } = budgetOf(100 * KIBIBYTE);
    for (const username of ['a', 'b', 'c']) expect(hold(username).add(30 * KIBIBYTE)).toBe(true);
    const owed = hold('d');
    expect([owed.add(20 * KIBIBYTE, true), lost]).toEqual([true, ['a']]);
    expect([owed.add(30 * KIBIBYTE, true), lost]).toEqual([false, ['a']]);
    expect(budget.heldBytes).toBe(80 * KIBIBYTE);
  });
});

describe('several threads', () => {
  const TOTAL = 100 * KIBIBYTE;
  const threads = (count: number) => {
    const { bytes, owner } = sharedBy(count);
    return { owner, of: bytes.map((shared) => holdersOf(new ByteBudget({ totalBytes: TOTAL }, shared))) };
  };

  it('hold no more than the limit together', () => {
    const [one, other] = threads(2).of;
    expect(one!.hold('a').add(60 * KIBIBYTE)).toBe(true);
    const second = other!.hold('a');
    expect([second.add(41 * KIBIBYTE), second.add(40 * KIBIBYTE)]).toEqual([false, true]);
    expect([one!.budget.heldBytes, other!.budget.heldBytes]).toEqual([TOTAL, TOTAL]);
    second.release();
    expect(one!.hold('a').add(40 * KIBIBYTE)).toBe(true);
  });

  it('take from who holds most on another thread for who holds less, and from nobody else', async () => {
    const [one, other, third] = threads(3).of;
    for (let i = 0; i < 4; i++) expect(one!.hold('greedy', `greedy ${i}`).add(20 * KIBIBYTE)).toBe(true);
    expect(third!.hold('modest').add(20 * KIBIBYTE)).toBe(true);
    // As much as who holds most: refused.
    expect(other!.hold('as greedy').add(80 * KIBIBYTE)).toBe(false);
    expect(other!.hold('small').add(10 * KIBIBYTE)).toBe(true);
    await eventually(() => expect(other!.budget.heldBytes).toBeLessThanOrEqual(TOTAL));
    expect([one!.lost, other!.lost, third!.lost]).toEqual([['greedy 0'], [], []]);
  });

  it('settle who of two gives that hold the same', async () => {
    const [one, other] = threads(2).of;
    const bytes = 55.5 * KIBIBYTE; // counted as 56: as much as the other has, and more than one has oneself
    expect([one!.hold('a').add(bytes), other!.hold('b').add(bytes)]).toEqual([true, true]);
    await eventually(() => expect(one!.budget.heldBytes).toBeLessThanOrEqual(TOTAL));
    expect([...one!.lost, ...other!.lost]).toHaveLength(1);
  });

  it('take from whom it is owed on another thread', async () => {
    const [one, other] = threads(2).of;
    for (let i = 0; i < 5; i++) expect(one!.hold('a', `read ${i}`).add(20 * KIBIBYTE)).toBe(true);
    expect(other!.hold('a').add(10 * KIBIBYTE)).toBe(false);
    expect(other!.hold('a').add(10 * KIBIBYTE, true)).toBe(true);
    await eventually(() => expect(one!.lost).toEqual(['read 0']));
  });

  it('hold an eighth more at most, until another thread has given', () => {
    const [one, other] = threads(2).of;
    expect(one!.hold('greedy').add(TOTAL)).toBe(true);
    const small = Array.from({ length: 20 }, (_, i) => other!.hold(`small ${i}`).add(KIBIBYTE));
    expect(small.filter((isHeld) => isHeld)).toHaveLength(12);
    expect(other!.budget.heldBytes).toBeLessThanOrEqual(TOTAL * 1.125);
  });

  it('have again what a thread held that is gone', () => {
    const {
      of: [one, other],
      owner,
    } = threads(2);
    expect(other!.hold('a').add(TOTAL)).toBe(true);
    expect(one!.hold('a').add(KIBIBYTE)).toBe(false);
    owner.release(1);
    expect(one!.hold('a').add(TOTAL)).toBe(true);
  });
});
