import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject } from '../../../api/index.ts';
import { readStructural } from '../structural.ts';
import { checkRules } from './check-rules.ts';
import { compileRules } from './compile-rules.ts';

const integer = { type: 'integer' };
const text = { type: 'string' };
const fields: JsonObject = {
  n: integer,
  m: integer,
  ratio: { type: 'number' },
  s: text,
  flag: { type: 'boolean' },
  port: { 'x-kubernetes-int-or-string': true },
  when: { type: 'string', format: 'date-time' },
  span: { type: 'string', format: 'duration' },
  maybe: { type: 'string', nullable: true },
  'a-b': text,
  namespace: text,
  names: { type: 'array', items: text },
  numbers: { type: 'array', items: integer },
  items: {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: text, size: integer } },
  },
  labels: { type: 'object', additionalProperties: text },
  inner: { type: 'object', properties: { x: integer } },
};

function schemaWith(...rules: JsonObject[]): JsonObject {
  return {
    type: 'object',
    properties: { spec: { type: 'object', properties: fields, 'x-kubernetes-validations': rules } },
  };
}

function check(rule: JsonObject, spec: JsonObject, old?: JsonObject): string[] {
  const schema = schemaWith(rule);
  expect(checkRules(schema, 'schema').map(fieldErrorText)).toEqual([]);
  const rules = compileRules(readStructural(schema))!;
  return rules.check({ spec }, old && { spec: old }).map(fieldErrorText);
}

it.each<[rule: string, good: JsonObject, bad?: JsonObject]>([
  ['self.n < 4', { n: 3 }, { n: 4 }],
  ['self.n <= self.m', { n: 1, m: 1 }, { n: 2, m: 1 }],
  ['!has(self.s) || self.s.startsWith("x")', {}, { s: 'y' }],
  ['has(self.s) ? self.s.size() > 1 : true', { s: 'ab' }, { s: 'a' }],
  ['self.names.all(x, x.matches("^[a-z]+$"))', { names: ['a', 'b'] }, { names: ['A'] }],
  ['self.names.exists(x, x == "a")', { names: ['b', 'a'] }, { names: [] }],
  ['self.names.exists_one(x, x == "a")', { names: ['a'] }, { names: ['a', 'a'] }],
  ['self.names.map(x, x.upperAscii()).join("-") == "A-B"', { names: ['a', 'b'] }, { names: ['a'] }],
  ['self.items.filter(i, has(i.size) && i.size > 1).size() == 1', { items: [{ name: 'a', size: 2 }] }, { items: [] }],
  ['self.items.all(i, self.items.exists_one(j, j.name == i.name))', { items: [{ name: 'a' }] }],
  ['self.numbers.isSorted()', { numbers: [1, 2, 10] }, { numbers: [2, 1] }],
  ['self.numbers.sum() == 6', { numbers: [1, 2, 3] }, { numbers: [1] }],
  ['self.numbers.min() == 1 && self.numbers.max() == 3', { numbers: [3, 1] }, { numbers: [2] }],
  ['self.names.indexOf("b") == 1', { names: ['a', 'b'] }, { names: ['b'] }],
  ['self.names.distinct().size() == self.names.size()', { names: ['a', 'b'] }, { names: ['a', 'a'] }],
  ['sets.contains(["a", "b"], self.names)', { names: ['a'] }, { names: ['c'] }],
  ['"k" in self.labels && self.labels["k"] == "v"', { labels: { k: 'v' } }, { labels: {} }],
  ['self.labels.all(k, k.startsWith("x") && self.labels[k] != "")', { labels: { xa: '1' } }, { labels: { a: '1' } }],
  ['self.s.lowerAscii().replace("a", "b").split(",").size() == 2', { s: 'A,c' }, { s: 'a' }],
  ['self.s.trim().indexOf("b") == 1', { s: ' ab ' }, { s: 'b' }],
  ['self.s.substring(1, 2) == "b" && self.s.charAt(0) == "a"', { s: 'abc' }, { s: 'xyz' }],
  ['quantity(self.s).isLessThan(quantity("1Gi"))', { s: '500Mi' }, { s: '2Gi' }],
  ['isQuantity(self.s) && quantity(self.s).compareTo(quantity("1k")) == 0', { s: '1000' }, { s: 'x' }],
  [
    'url(self.s).getScheme() == "https" && url(self.s).getHostname() == "a.io"',
    { s: 'https://a.io:8/x' },
    { s: 'http://a.io' },
  ],
  ['isURL(self.s)', { s: 'https://a.io' }, { s: 'a b' }],
  ['ip(self.s).family() == 4', { s: '10.0.0.1' }, { s: '::1' }],
  ['cidr("10.0.0.0/8").containsIP(self.s)', { s: '10.1.2.3' }, { s: '11.0.0.1' }],
  ['cidr("10.0.0.0/8").containsCIDR(self.s)', { s: '10.1.0.0/16' }, { s: '10.0.0.0/7' }],
  ['self.when > timestamp("2020-01-01T00:00:00Z")', { when: '2021-01-01T00:00:00Z' }, { when: '2019-01-01T00:00:00Z' }],
  ['self.span >= duration("1m")', { span: '1h' }, { span: '30s' }],
  ['self.n > 1.5', { n: 2 }, { n: 1 }],
  ['double(self.n) == self.ratio', { n: 2, ratio: 2 }, { n: 2, ratio: 2.5 }],
  ['type(self.port) == int ? self.port > 0 : self.port != ""', { port: 80 }, { port: '' }],
  ['!has(self.maybe) || self.maybe == null || self.maybe == "x"', { maybe: null }, { maybe: 'y' }],
  [
    'self.a__dash__b == "x" && self.__namespace__ == "y"',
    { 'a-b': 'x', namespace: 'y' },
    { 'a-b': 'x', namespace: 'z' },
  ],
  ['self.?inner.?x.orValue(5) == 5', {}, { inner: { x: 4 } }],
  ['"%s-%d".format([self.s, self.n]) == "a-1"', { s: 'a', n: 1 }, { s: 'a', n: 2 }],
])('the rule %s tells good from bad', (rule, good, bad) => {
  expect(check({ rule }, good)).toEqual([]);
  if (bad) expect(check({ rule }, bad)).toHaveLength(1);
});

/** As they stand in definitions that many people install. */
it.each<[rule: string, good: JsonObject, bad: JsonObject]>([
  [
    "self.items.all(l, l.name in ['a', 'b'] ? !has(l.size) : true)",
    { items: [{ name: 'a' }] },
    { items: [{ name: 'a', size: 1 }] },
  ],
  [
    "!(self.items.exists(f, f.name == 'x') && self.items.exists(f, f.name == 'y'))",
    { items: [{ name: 'x' }] },
    { items: [{ name: 'x' }, { name: 'y' }] },
  ],
  [
    "self.items.filter(f, f.name.startsWith('h')).size() <= 1",
    { items: [{ name: 'h1' }] },
    { items: [{ name: 'h1' }, { name: 'h2' }] },
  ],
  [
    '(size(self.items) != 1 || !has(self.items[0].size) || self.items[0].size != 3) ? false : true',
    { items: [{ name: 'a', size: 3 }] },
    { items: [{ name: 'a' }] },
  ],
  ['[has(self.n), has(self.m)].exists_one(x, x)', { n: 1 }, { n: 1, m: 1 }],
  ['[has(self.n), has(self.m)].filter(x, x == true).size() == 1', { m: 1 }, {}],
  ['has(self.n) == has(self.m)', {}, { n: 1 }],
  ["duration(self.s) != duration('0s')", { s: '1s' }, { s: '0s' }],
  [
    "size(self.s) == 0 && self.__namespace__ == 'x' ? has(self.n) : true",
    { s: 'a', namespace: 'x' },
    { s: '', namespace: 'x' },
  ],
  ["self.s.split('.')[0].size() < 4 && !self.s.contains('..')", { s: 'abc.defgh' }, { s: 'abcd.e' }],
  ['int(self.s) > 5 && string(self.n) == self.s', { s: '6', n: 6 }, { s: '6', n: 7 }],
  ["self.labels.exists(k, k == 'a' && self.labels[k].matches('^v'))", { labels: { a: 'v1' } }, { labels: { a: 'x' } }],
  ['has(self.inner) && has(self.inner.x) ? self.inner.x > 0 : true', {}, { inner: { x: 0 } }],
  ['string(self.port).size() > 1', { port: 80 }, { port: 'a' }],
])('the rule %s of practice works', (rule, good, bad) => {
  expect(check({ rule }, good)).toEqual([]);
  expect(check({ rule }, bad)).toHaveLength(1);
});

it.each<[rule: string, good: [JsonObject, JsonObject], bad: [JsonObject, JsonObject]]>([
  ['!has(oldSelf.s) || has(self.s)', [{ s: 'b' }, { s: 'a' }], [{}, { s: 'a' }]],
  ['self.s == oldSelf.s', [{ s: 'a', n: 1 }, { s: 'a' }], [{ s: 'b' }, { s: 'a' }]],
  [
    'oldSelf.names.all(x, x in self.names)',
    [{ names: ['a', 'b'] }, { names: ['a'] }],
    [{ names: [] }, { names: ['a'] }],
  ],
  [
    'self.items.all(i, oldSelf.items.exists(o, o == i))',
    [{ items: [] }, { items: [] }],
    [{ items: [{ name: 'b' }] }, { items: [{ name: 'a' }] }],
  ],
  [
    'self.inner == oldSelf.inner',
    [{ inner: { x: 1 }, n: 2 }, { inner: { x: 1 } }],
    [{ inner: { x: 2 } }, { inner: { x: 1 } }],
  ],
])('the rule %s about changes works', (rule, good, bad) => {
  expect(check({ rule }, ...good)).toEqual([]);
  expect(check({ rule }, ...bad)).toHaveLength(1);
});

it.each<[claim: string, rule: JsonObject, spec: JsonObject, old: JsonObject | undefined, want: string[]]>([
  ['names itself', { rule: 'self.n < 4' }, { n: 5 }, undefined, ['spec: Invalid value: failed rule: self.n < 4']],
  [
    'has a message',
    { rule: 'self.n < 4', message: 'too many' },
    { n: 5 },
    undefined,
    ['spec: Invalid value: too many'],
  ],
  [
    'has a message that is worked out',
    { rule: 'self.n < 4', message: 'no', messageExpression: '"n is " + string(self.n)' },
    { n: 5 },
    undefined,
    ['spec: Invalid value: n is 5'],
  ],
  [
    'has a reason and a place',
    { rule: 'self.n < 4', message: 'no', reason: 'FieldValueForbidden', fieldPath: '.n' },
    { n: 5 },
    undefined,
    ['spec.n: Forbidden: no'],
  ],
  ['about a change passes a create', { rule: 'self.n >= oldSelf.n' }, { n: 1 }, undefined, []],
  [
    'about a change sees it',
    { rule: 'self.n >= oldSelf.n' },
    { n: 1 },
    { n: 2 },
    ['spec: Invalid value: failed rule: self.n >= oldSelf.n'],
  ],
  ['about a change lets a good one pass', { rule: 'self == oldSelf || self.n > oldSelf.n' }, { n: 3 }, { n: 2 }, []],
  [
    'with an optional old value is asked on create',
    { rule: 'oldSelf.hasValue() || self.n == 1', optionalOldSelf: true },
    { n: 2 },
    undefined,
    ['spec: Invalid value: failed rule: oldSelf.hasValue() || self.n == 1'],
  ],
  ['lets off what has not changed', { rule: 'self.n < 4' }, { n: 5 }, { n: 5 }, []],
  [
    'that cannot be worked out fails',
    { rule: 'self.numbers[5] == 1' },
    { numbers: [1] },
    undefined,
    [expect.stringContaining('spec: Invalid value: failed rule: self.numbers[5] == 1: ') as unknown as string],
  ],
])('a rule %s', (_claim, rule, spec, old, want) => expect(check(rule, spec, old)).toEqual(want));

it.each<[rule: string, want: string]>([
  ['self.zz > 1', "undefined field 'zz'"],
  ['self.items.all(i, i.zz == 1)', "undefined field 'zz'"],
  ['self.s > 1', 'no such overload'],
  ['self.n +', 'ERROR'],
  ['self.n', 'must evaluate to a bool'],
  ['self.s.nosuch()', 'found no matching overload'],
  ['nosuch(self.s)', 'found no matching overload'],
  ['self.s.find("a") == "a"', 'found no matching overload'],
  ['self.s.matches("(")', 'error parsing regexp'],
])('the rule %j is refused with its definition', (rule, want) => {
  const [fault, ...others] = checkRules(schemaWith({ rule }), 'schema');
  expect(others).toEqual([]);
  expect(fault).toMatchObject({
    reason: 'FieldValueInvalid',
    field: 'schema.properties[spec].x-kubernetes-validations[0].rule',
  });
  expect(fault!.message).toContain(want);
});

it('a rule about a change is refused where old values cannot be told apart', () => {
  const items = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
  const schema = { type: 'object', properties: { list: { type: 'array', items } } };
  expect(checkRules(schema, 'schema').map(({ reason }) => reason)).toEqual(['FieldValueForbidden']);
});

it('rules that could take too long are refused before they run', () => {
  const rule = 'self.names.all(a, self.names.all(b, self.names.all(c, a != "x" || b != c)))';
  const names = Array.from({ length: 5000 }, (_, i) => `n${i}`);
  const start = performance.now();
  expect(check({ rule }, { names })).toEqual([expect.stringContaining('running out of cost budget')]);
  expect(performance.now() - start).toBeLessThan(1000);
});
