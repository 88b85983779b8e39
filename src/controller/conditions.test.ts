import { describe, expect, it } from 'vitest';
import {
  type Condition,
  findCondition,
  isConditionFalse,
  isConditionTrue,
  type NewCondition,
  removeCondition,
  setCondition,
} from './conditions.ts';

const OLD = '2020-01-01T00:00:00Z';
const NOW = new Date('2026-05-06T07:08:09.123Z');
const ready: Condition = { type: 'Ready', status: 'True', reason: 'Fine', message: 'ok', lastTransitionTime: OLD };

describe('setCondition()', () => {
  it.each<[claim: string, wanted: Partial<NewCondition>, want: Partial<Condition>]>([
    ['moves the time when the status changes', { status: 'False' }, { lastTransitionTime: '2026-05-06T07:08:09Z' }],
    ['keeps the time when only the reason does', { reason: 'Other' }, { reason: 'Other', lastTransitionTime: OLD }],
    ['takes the observed generation', { observedGeneration: 4 }, { observedGeneration: 4, lastTransitionTime: OLD }],
    [
      'takes a time that is told',
      { status: 'Unknown', lastTransitionTime: '2021-01-01T00:00:00Z' },
      { lastTransitionTime: '2021-01-01T00:00:00Z' },
    ],
  ])('%s', (_claim, wanted, want) => {
    const { lastTransitionTime: _, ...known } = ready;
    const [first, second] = setCondition([ready, { ...ready, type: 'Live' }], { ...known, ...wanted }, NOW);
    expect(first).toMatchObject(want);
    expect(second?.type).toBe('Live');
    expect(ready.status).toBe('True');
  });

  it('adds one that is not there, with the time of now', () => {
    const wanted = { type: 'Ready', status: 'True', reason: 'Fine', message: '' } as const;
    expect(setCondition(undefined, wanted, NOW)).toEqual([{ ...wanted, lastTransitionTime: '2026-05-06T07:08:09Z' }]);
  });

  it('gives the same array back when nothing is different', () => {
    const conditions = [ready];
    const { lastTransitionTime: _, ...same } = ready;
    expect(setCondition(conditions, same, NOW)).toBe(conditions);
  });

  it('takes conditions as built-in kinds have them, where what is empty is left out', () => {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: OLD }] as const;
    const wanted = { type: 'Ready', status: 'True', reason: '', message: '' } as const;
    expect(setCondition(conditions, wanted, NOW)).toBe(conditions);
  });
});

it('conditions are found, asked and removed by type', () => {
  const conditions = [ready];
  expect(findCondition(conditions, 'Ready')).toBe(ready);
  expect([isConditionTrue(conditions, 'Ready'), isConditionFalse(conditions, 'Ready')]).toEqual([true, false]);
  expect([isConditionTrue(undefined, 'Ready'), isConditionFalse(undefined, 'Ready')]).toEqual([false, false]);
  expect(removeCondition(conditions, 'Ready')).toEqual([]);
  expect(removeCondition(conditions, 'Live')).toBe(conditions);
});
