import { expect, it } from 'vitest';
import { fieldErrorText } from '../../api/index.ts';
import { checkSelectors, ignoredSelectors, type SelectorQuestion } from './selector-review.ts';

const one = (operator: string, values: string[] = ['v'], key = 'k') => ({ requirements: [{ key, operator, values }] });

it.each<[claim: string, labels: SelectorQuestion, want: string[]]>([
  ['a requirement', one('In'), []],
  ['an operator that nobody knows yet', one('Gt'), []],
  [
    'nothing',
    {},
    [
      'r.labelSelector.requirements: Required value: when r.labelSelector is specified, requirements or rawSelector is required',
    ],
  ],
  [
    'both forms',
    { ...one('In'), rawSelector: 'a=b' },
    ['r.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'],
  ],
  [
    'no values',
    one('In', []),
    ["r.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
  ],
  [
    'values too many',
    one('Exists'),
    [
      "r.labelSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
  ],
])('a label selector with %s is judged', (_claim, labelSelector, want) =>
  expect(checkSelectors({ labelSelector }, 'r').map(fieldErrorText)).toEqual(want),
);

const IGNORED = 'ignored due to parse error';
it.each<[claim: string, selectors: Parameters<typeof ignoredSelectors>[0], want: string]>([
  ['sets of labels', { labelSelector: one('In', ['a', 'b']) }, ''],
  ['sets of fields', { fieldSelector: one('In', ['a', 'b']) }, `spec.resourceAttributes.fieldSelector ${IGNORED}`],
  ['text that is none', { labelSelector: { rawSelector: '!!' } }, `spec.resourceAttributes.labelSelector ${IGNORED}`],
  [
    'one of two',
    { labelSelector: { requirements: [...one('In').requirements, ...one('Gt').requirements] } },
    `spec.resourceAttributes.labelSelector partially ${IGNORED}`,
  ],
  [
    'both',
    { fieldSelector: one('Exists', []), labelSelector: one('Gt') },
    `[spec.resourceAttributes.fieldSelector ${IGNORED}, spec.resourceAttributes.labelSelector ${IGNORED}]`,
  ],
])('of %s the answer says what it is not about', (_claim, selectors, want) =>
  expect(ignoredSelectors(selectors)).toBe(want),
);
