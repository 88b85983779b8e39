import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growthOf } from '../../../test/support/growth.ts';
import { isStatusError } from '../errors/status-error.ts';
import {
  everyLabel,
  LabelSelector,
  type LabelSelectorObject,
  labelSelectorFromLabels,
  labelSelectorFromObject,
  noLabel,
  parseLabelSelector,
  showLabelSelector,
} from './label-selector.ts';
import type { LabelRequirement } from './label-selector-parser.ts';

const name =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const operators = 'expected: in, notin, =, ==, !=, gt, lt';
const bad = 'unable to parse requirement:';

describe('parseLabelSelector()', () => {
  it.each<[text: string, message: string]>([
    ['a b', `${bad} found 'b', ${operators}`],
    ['a gt 1', `${bad} found 'gt', ${operators}`],
    ['a!b', `${bad} found '!', ${operators}`],
    ['a in x', `${bad} found 'x' expected: '('`],
    ['a notin', `${bad} found '' expected: '('`],
    ['a in (x', `${bad} found '', expected: ',' or ')'`],
    ['a in (', `${bad} found '', expected: ',', ')' or identifier`],
    ['a in (x,', `${bad} found '', expected: ',', or identifier`],
    ['a in (x y)', `${bad} found 'y', expected: ',' or ')'`],
    ['a=b,', "found '', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a=1)', "found ')', expected: ',' or 'end of string'"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!', `${bad} found '', expected: identifier`],
    ['n>=3', `${bad} found '=', expected: identifier`],
    ['-a', `${bad} <nil>: Invalid value: "-a": name part ${name}`],
    [
      'x/y/z=1',
      `${bad} <nil>: Invalid value: "x/y/z": a valid label key ${name} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
    ['/a=1', `${bad} <nil>: Invalid value: "/a": prefix part must be non-empty`],
    [
      `${'x'.repeat(64)}=1`,
      `${bad} <nil>: Invalid value: "${'x'.repeat(64)}": name part must be no more than 63 bytes`,
    ],
    ['a=-b', `${bad} values[0][a]: Invalid value: "-b": ${value}`],
    [`a=${'x'.repeat(64)}`, `${bad} values[0][a]: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`],
    ['a>x', `${bad} values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
  ])('refuses %j', (text, message) => {
    let thrown: unknown;
    try {
      parseLabelSelector(text);
    } catch (err) {
      thrown = err;
    }
    expect(isStatusError(thrown, 'BadRequest') && thrown.message).toBe(message);
  });

  const labels = { env: 'prod', tier: 'web', empty: '', n: '5', 'example.com/x': 'y', constructor: 'c' };
  it.each<[text: string, matches: boolean]>([
    ['', true],
    [' \t\r\n', true],
    ['env=prod', true],
    ['env==prod', true],
    [' env = prod , tier = web ', true],
    ['env!=prod', false],
    ['other!=x', true],
    ['env in (prod,dev)', true],
    ['env in (dev)', false],
    ['env in (,prod)', true],
    ['env in ()', false],
    ['empty in ()', true],
    ['empty in (x,)', true],
    ['empty in (x,,y)', true],
    ['empty=', true],
    ['env notin (prod)', false],
    ['other notin (prod)', true],
    ['env', true],
    ['other', false],
    ['!other', true],
    ['! env', false],
    ['n>4', true],
    ['n>5', false],
    ['n<6', true],
    ['env>1', false],
    ['other>1', false],
    ['example.com/x=y,constructor=c', true],
    ['toString', false],
    ['in in (in)', false],
    ['notin', false],
    ['!in', true],
  ])('%j matches: %s', (text, matches) => expect(parseLabelSelector(text).matches(labels)).toBe(matches));

  it('never matches what an object inherits', () => {
    expect(parseLabelSelector('constructor').matches({})).toBe(false);
    expect(parseLabelSelector('a!=b').matches(undefined)).toBe(true);
  });

  it('compares numbers of 64 bits exactly', () => {
    const selector = parseLabelSelector('n>9223372036854775806');
    expect(selector.matches({ n: '9223372036854775807' })).toBe(true);
    expect(selector.matches({ n: '9223372036854775808' })).toBe(false);
  });
});

describe('LabelSelector', () => {
  it('has one canonical text for one meaning', () => {
    const texts = ['b,a=1,c in (y,x)', 'c in (x, y, x),a==1,b', 'b,b,a in (1),c in (x,y)'];
    expect(new Set(texts.map((text) => parseLabelSelector(text).canonical))).toEqual(new Set(['a=1,b,c in (x,y)']));
    expect(parseLabelSelector('a notin (x)').canonical).toBe('a!=x');
    expect(noLabel.canonical).not.toBe(everyLabel.canonical);
  });

  it('says which values are pinned', () => {
    const { pinned } = parseLabelSelector('a=1,b in (2),c in (3,4),d!=5');
    expect([...pinned]).toEqual([
      ['a', '1'],
      ['b', '2'],
    ]);
  });

  it('comes back from its text', () => {
    const word = fc.stringMatching(/^[a-z]([-a-z0-9_.]{0,8}[a-z0-9])?$/);
    const few = fc.uniqueArray(word, { minLength: 1, maxLength: 3 }).map((values) => [...values].sort());
    const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
      fc.record({
        key: word,
        operator: fc.constantFrom('=' as const, '!=' as const),
        values: word.map((only) => [only]),
      }),
      fc.record({ key: word, operator: fc.constantFrom('in' as const, 'notin' as const), values: few }),
      fc.record({ key: word, operator: fc.constantFrom('exists' as const, '!' as const), values: fc.constant([]) }),
      fc.record({
        key: word,
        operator: fc.constantFrom('>' as const, '<' as const),
        values: fc.nat().map((only) => [String(only)]),
      }),
    );
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), fc.dictionary(word, word), (requirements, labels) => {
        const selector = new LabelSelector(requirements);
        const again = parseLabelSelector(selector.toString());
        expect(again.canonical).toBe(selector.canonical);
        expect(parseLabelSelector(selector.canonical).canonical).toBe(selector.canonical);
        expect(again.matches(labels)).toBe(selector.matches(labels));
      }),
    );
  });

  it('ends in a selector or a BadRequest on any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab=!<>(), \t/-.'), maxLength: 20 }), (text) => {
        try {
          parseLabelSelector(text);
        } catch (err) {
          expect(isStatusError(err, 'BadRequest')).toBe(true);
        }
      }),
    );
  });
});

describe('the object form', () => {
  it.each<[selector: LabelSelectorObject | null | undefined, shown: string]>([
    [undefined, '<none>'],
    [{}, '<none>'],
    [{ matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
    [
      {
        matchLabels: { app: 'a' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['web', 'db'] },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'env', operator: 'NotIn', values: ['dev'] },
          { key: 'x', operator: 'Exists' },
        ],
      },
      'app=a,env notin (dev),!old,tier in (db,web),x',
    ],
    [{ matchExpressions: [{ key: 'a', operator: 'Near' }] }, '<error>'],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }, '<error>'],
    [{ matchLabels: { 'bad key': 'x' } }, '<error>'],
  ])('%j shows as %s', (selector, shown) => expect(showLabelSelector(selector)).toBe(shown));

  it('selects nothing if absent, everything if empty', () => {
    expect(labelSelectorFromObject(undefined).matches({ a: 'b' })).toBe(false);
    expect(labelSelectorFromObject(undefined).isEmpty).toBe(false);
    expect(labelSelectorFromObject({}).matches({ a: 'b' })).toBe(true);
    expect(labelSelectorFromLabels({ a: 'b' }).matches({ a: 'b', c: 'd' })).toBe(true);
  });
});

describe('a selector of many requirements', () => {
  /** One by one, as written. */
  const naive = ({ key, operator, values }: LabelRequirement, labels: Record<string, string>): boolean => {
    const value = labels[key];
    if (operator === '=' || operator === 'in') return value !== undefined && values.includes(value);
    if (operator === '!=' || operator === 'notin') return value === undefined || !values.includes(value);
    if (operator === 'exists') return value !== undefined;
    if (operator === '!') return value === undefined;
    if (value === undefined || !/^[0-9]+$/.test(value)) return false;
    return operator === '>' ? Number(value) > Number(values[0]) : Number(value) < Number(values[0]);
  };

  it('means what its requirements mean one by one', () => {
    const key = fc.constantFrom(...'abcdefghijkl');
    const value = fc.constantFrom('1', '2', '3', 'x');
    const number = fc.constantFrom('1', '2', '3');
    const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
      fc.record({ key, operator: fc.constantFrom('=' as const, '!=' as const), values: fc.tuple(value) }),
      fc.record({ key, operator: fc.constantFrom('in' as const, 'notin' as const), values: fc.uniqueArray(value) }),
      fc.record({ key, operator: fc.constantFrom('exists' as const, '!' as const), values: fc.constant([]) }),
      fc.record({ key, operator: fc.constantFrom('>' as const, '<' as const), values: fc.tuple(number) }),
    );
    const some = fc.oneof(
      fc.array(requirement, { maxLength: 4 }),
      fc.array(requirement, { minLength: 9, maxLength: 40 }),
    );
    fc.assert(
      fc.property(some, fc.dictionary(key, value), (requirements, labels) => {
        const expected = requirements.every((one) => naive(one, labels));
        expect(new LabelSelector(requirements).matches(labels)).toBe(expected);
      }),
    );
  });

  it.each<[what: string, term: (index: number) => string]>([
    ['that one key has none of many values', (index) => `a!=v${index}`],
    ['that many keys are absent', (index) => `!n${index}`],
    ['that many keys are there', (index) => `k${index}`],
    ['that many keys have other values', (index) => `k${index} notin (a,b)`],
  ])('says %s in the same time, however many', async (_what, term) => {
    const objects = Array.from({ length: 2_000 }, (_, i) => ({ a: 'b', [`k${i % 3}`]: 'v' }));
    const make = (size: number) =>
      parseLabelSelector(Array.from({ length: size }, (_, index) => term(index)).join(','));
    const run = (selector: LabelSelector) => {
      for (let round = 0; round < 10; round++) for (const labels of objects) selector.matches(labels);
    };
    const { factor } = await growthOf({ make, run, from: 1_000, limit: 8_000, rounds: 3 });
    expect(factor).toBeLessThan(1.6);
  });
});
