import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { fieldErrorText, type JsonObject } from '../../../api/index.ts';
import { readStructural } from '../../../schemas/structural/structural.ts';
import { Validation } from '../../../schemas/structural/validation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { checkRules } from './check-rules.ts';
import { Rule } from './rule.ts';
import { ValueForms } from './value-forms.ts';
import { ValueLengths } from './value-lengths.ts';

/** What one rule about a value of this schema may cost. */
function costOf(schema: JsonObject, rule: string): number {
  const node = readStructural(schema);
  return new Rule({ rule }, new ValueForms().formOf(node).type).mostCosts(new ValueLengths().of(node)!).rule;
}

const strings = (more: JsonObject = {}) => ({ type: 'array', items: { type: 'string', maxLength: 5 }, ...more });

describe('what a rule may cost', () => {
  it.each<[rule: string, schema: JsonObject, cost: number]>([
    // Without bounds a list has as many elements as fit into a request.
    ['self.all(x, true)', { type: 'array', items: { type: 'number' } }, 4_718_591],
    ['self.all(x, true)', { type: 'array', items: { type: 'number' }, maxItems: 10 }, 32],
    ['self.all(x, true)', { type: 'object', additionalProperties: { type: 'number' } }, 1_348_169],
    ['self.exists(x, x > 1)', { type: 'array', items: { type: 'integer' }, maxItems: 10 }, 62],
    ['self.exists_one(x, x == 1)', { type: 'array', items: { type: 'integer' }, maxItems: 10 }, 33],
    ['self.map(x, x + 1).all(x, true)', { type: 'array', items: { type: 'integer' }, maxItems: 10 }, 183],
    ['self.filter(x, x > 1).size() == 1', { type: 'array', items: { type: 'integer' }, maxItems: 10 }, 164],
    ['self.all(x, self.all(y, true))', { type: 'array', items: { type: 'number' }, maxItems: 10 }, 352],
    // A text has at most four bytes for each of its characters.
    ["self.matches('a')", { type: 'string' }, 314_574],
    ["self.matches('a')", { type: 'string', maxLength: 42 }, 18],
    ["self.startsWith('abcdefghijk')", { type: 'string' }, 3],
    ["self.contains('ab')", { type: 'string', maxLength: 42 }, 18],
    ["self == 'ab'", { type: 'string' }, 2],
    ['self == self', { type: 'string', maxLength: 25 }, 12],
    ["self + 'ab' == self", { type: 'string', maxLength: 25 }, 23],
    ["self.lowerAscii().contains('ab')", { type: 'string', maxLength: 25 }, 21],
    ["self.replace('ab', 'c').size() < 3", { type: 'string', maxLength: 25 }, 23],
    ["self.split(',').all(x, true)", { type: 'string', maxLength: 25 }, 322],
    ["self.join(',').size() < 3", strings({ maxItems: 10 }), 24],
    ['self.isSorted()', strings({ maxItems: 10 }), 31],
    ["'a' in self", strings({ maxItems: 10 }), 11],
    ["self == 'one' || self == 'two'", { type: 'string', enum: ['one', 'eleven'] }, 4],
    // The dearer of two ways, both sides of an or; asking whether something is there costs nothing.
    ["self ? 1 < 2 : 'a'.matches('bcdefg')", { type: 'boolean' }, 3],
    ['has(self.a) && self.a > 1', { type: 'object', properties: { a: { type: 'integer' } } }, 4],
    ['self.a == 1', { type: 'object', properties: { a: { type: 'integer' } } }, 2],
    ['self[0] == 1', { type: 'array', items: { type: 'integer' } }, 2],
    ["self['a'].size() == 1", { type: 'object', additionalProperties: { type: 'string' } }, 4],
    ['cel.bind(x, self, x == x)', { type: 'string', maxLength: 25 }, 23],
    ['self.transformList(i, x, x + i).size() == 1', strings({ maxItems: 0, items: { type: 'integer' } }), 14],
    ['timestamp(self) < timestamp(self)', { type: 'string', maxLength: 5 }, 5],
    ['sets.contains(self, [1, 2])', { type: 'array', items: { type: 'integer' }, maxItems: 10 }, 32],
  ])('%s', (rule, schema, cost) => {
    expect(costOf(schema, rule)).toBe(cost);
  });

  it('has no end where a length has none', () => {
    expect(costOf({ type: 'integer' }, "string(self) + 'a' != string(self)")).toBe(Number.POSITIVE_INFINITY);
  });

  it('is reckoned in time that grows with the rule', async () => {
    await expectLinear('a long rule', {
      make: (size) => Array.from({ length: size }, () => "self.a.contains('x')").join(' || '),
      run: (rule) => costOf({ type: 'object', properties: { a: { type: 'string' } } }, rule),
      from: 50,
      limit: 400,
      rounds: 2,
    });
  });
});

async function faultsOf(schema: JsonObject, isKnown = false): Promise<string[]> {
  const validation = new Validation();
  await checkRules(readStructural(schema), 'spec.validation.openAPIV3Schema', validation, new WorkSlices(), isKnown);
  return validation.faults.map((fault) => fieldErrorText(fault).replace('spec.validation.openAPIV3Schema', '$'));
}

const rules = (...texts: string[]) => ({ 'x-kubernetes-validations': texts.map((rule) => ({ rule })) });
const hint =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
const contributed =
  'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
const total = '$: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
const root = (properties: JsonObject) => ({ type: 'object', properties });

describe('a definition', () => {
  /** As a kube-apiserver 1.36 was seen to judge them. */
  const cases = (message: number, expected: number) =>
    root({
      cases: {
        type: 'array',
        maxItems: 20,
        items: {
          ...root({
            message: { type: 'string', maxLength: message },
            expect: root({ contains: { type: 'string', maxLength: expected } }),
          }),
          ...rules('!has(self.expect.contains) || !self.message.contains(self.expect.contains)'),
        },
      },
    });

  it.each([
    [1024, 1024],
    [4096, 512],
  ])('with a rule that is cheap enough for texts of %d and %d is taken', async (message, expected) => {
    expect(await faultsOf(cases(message, expected))).toEqual([]);
  });

  it('is refused for a rule that is too dear, by how much it is', async () => {
    const at = '$.properties[cases].items.x-kubernetes-validations[0].rule';
    const why = `${at}: Forbidden: estimated rule cost exceeds budget by factor of 5.4x ${hint}`;
    expect(await faultsOf(cases(4096, 4096))).toEqual([why]);
  });

  it('that was taken before is not reckoned again', async () => {
    expect(await faultsOf(cases(4096, 4096), true)).toEqual([]);
  });

  it('is refused for rules that are too dear together, of which the dearest are named', async () => {
    const list = { type: 'array', items: { type: 'string', ...rules("self.contains('keyword')") } };
    const map = {
      type: 'object',
      maxProperties: 10_000,
      additionalProperties: { type: 'string', maxLength: 2048, ...rules("self.contains('keyword')") },
    };
    const cheap = { type: 'integer', ...rules('self > 50 && self < 100') };
    const [listAt, mapAt] = [
      '$.properties[list].items.x-kubernetes-validations[0].rule',
      '$.properties[map].additionalProperties.x-kubernetes-validations[0].rule',
    ];
    expect(await faultsOf(root({ list, map, cheap }))).toEqual([
      `${listAt}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${hint}`,
      `${listAt}: ${contributed}`,
      `${mapAt}: ${contributed}`,
      `${total} exceeds budget by factor of more than 100x ${hint}`,
    ]);
  });

  it('is refused for a message that is too dear, whose cost does not depend on how often it is made', async () => {
    const message = {
      'x-kubernetes-validations': [{ rule: 'self > 1', messageExpression: "'is ' + string(self)" }],
    };
    const at = '$.properties[a].x-kubernetes-validations[0].messageExpression';
    expect(await faultsOf(root({ a: { type: 'integer', ...message } }))).toEqual([
      `${at}: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x ${hint}`,
      `${at}: ${contributed}`,
      `${total} exceeds budget by factor of more than 100x ${hint}`,
    ]);
  });
});
