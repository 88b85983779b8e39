import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import { type FieldError, fieldErrorText, type JsonObject } from '../../../api/index.ts';
import { readStructural } from '../../../schemas/structural/structural.ts';
import { Validation } from '../../../schemas/structural/validation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
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

async function faultsOfRules(schema: JsonObject): Promise<FieldError[]> {
  const validation = new Validation();
  await checkRules(readStructural(schema), 'schema', validation, new WorkSlices(), true); // whatever they cost
  return validation.faults;
}

async function check(rule: JsonObject, spec: JsonObject, old?: JsonObject): Promise<string[]> {
  const schema = schemaWith(rule);
  expect((await faultsOfRules(schema)).map(fieldErrorText)).toEqual([]);
  const validation = new Validation();
  await compileRules(readStructural(schema))!.check({ spec }, old && { spec: old }, validation);
  return validation.faults.map(fieldErrorText);
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
])('the rule %s tells good from bad', async (rule, good, bad) => {
  expect(await check({ rule }, good)).toEqual([]);
  if (bad) expect(await check({ rule }, bad)).toHaveLength(1);
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
])('the rule %s of practice works', async (rule, good, bad) => {
  expect(await check({ rule }, good)).toEqual([]);
  expect(await check({ rule }, bad)).toHaveLength(1);
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
])('the rule %s about changes works', async (rule, good, bad) => {
  expect(await check({ rule }, ...good)).toEqual([]);
  expect(await check({ rule }, ...bad)).toHaveLength(1);
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
    ['spec: Invalid value: index out of bounds: 5 evaluating rule: self.numbers[5] == 1'],
  ],
  [
    'that is given what its functions do not take fails',
    { rule: 'self.port.contains("a")', message: 'no port' },
    { port: 80 },
    undefined,
    [
      "spec: Invalid value: 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: no port",
    ],
  ],
])('a rule %s', async (_claim, rule, spec, old, want) => expect(await check(rule, spec, old)).toEqual(want));

it.each<[rule: string, want: string]>([
  ['self.zz > 1', "ERROR: <input>:1:5: undefined field 'zz'\n | self.zz > 1\n | ....^"],
  ['has(self.zz)', "undefined field 'zz'"],
  ['has(self.inner.zz)', "undefined field 'zz'"],
  ['has(self.items[0].zz)', "undefined field 'zz'"],
  ['has(self.constructor)', "undefined field 'constructor'"],
  ['has(self.toString)', "undefined field 'toString'"],
  ['self.hasOwnProperty == null', "undefined field 'hasOwnProperty'"],
  ['self.__proto__ == null', "undefined field '__proto__'"],
  ['self.?zz.hasValue()', "undefined field 'zz'"],
  ['self.items.all(i, i.zz == 1)', "undefined field 'zz'"],
  ['self.s > 1', "found no matching overload for '_>_' applied to '(string, int)'"],
  ['self.n == "a"', "found no matching overload for '_==_' applied to '(int, string)'"],
  ['self.n +', 'Syntax error'],
  ['self.n', 'must evaluate to a bool'],
  ['self.s.nosuch()', "undeclared reference to 'nosuch' (in container '')"],
  ['nosuch(self.s)', "undeclared reference to 'nosuch' (in container '')"],
  ['constructor(self.s)', "undeclared reference to 'constructor' (in container '')"],
  ['nope.x == 1', "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope.x == 1\n | ^"],
  ['self.s.contains(1)', "found no matching overload for 'contains' applied to 'string.(int)'"],
  ['self.s.matches("(")', 'invalid matches argument'],
  [`${'('.repeat(251)}true${')'.repeat(251)}`, 'expression recursion limit exceeded: 250'],
  [`self.n == ${'1 + '.repeat(300)}1`, 'expression recursion limit exceeded: 250'],
])('the rule %j is refused with its definition', async (rule, want) => {
  const [fault, ...others] = await faultsOfRules(schemaWith({ rule }));
  expect(others).toEqual([]);
  expect(fault).toMatchObject({
    reason: 'FieldValueInvalid',
    field: 'schema.properties[spec].x-kubernetes-validations[0].rule',
  });
  expect(fault!.message).toContain(want);
});

it('a messageExpression that is no text is refused at its place', async () => {
  const [fault] = await faultsOfRules(schemaWith({ rule: 'true', messageExpression: 'self.n' }));
  expect(fault).toMatchObject({ field: 'schema.properties[spec].x-kubernetes-validations[0].messageExpression' });
  expect(fault!.message).toMatch(/: messageExpression must evaluate to a string$/);
});

it('a rule about a change is refused where old values cannot be told apart', async () => {
  const items = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] };
  const schema = { type: 'object', properties: { list: { type: 'array', items } } };
  expect((await faultsOfRules(schema)).map(({ reason }) => reason)).toEqual(['FieldValueForbidden']);
});

describe('the budget', () => {
  const names = Array.from({ length: 5000 }, (_, i) => `n${i}`);
  const exceeded = (rule: string) =>
    `spec: Invalid value: 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
  const over =
    'Invalid value: validation failed due to running out of cost budget, no further validation rules will be run';

  it.each<[claim: string, rule: string, spec: JsonObject]>([
    ['loops in loops', 'self.names.all(a, self.names.all(b, self.names.all(c, a != "x" || b != c)))', { names }],
    ['texts inside a loop', 'self.names.all(x, !self.s.contains(x))', { names, s: 'x'.repeat(140_000) }],
    ['texts that double', `self.s${'.replace("x", "xx")'.repeat(25)} != ""`, { s: 'x'.repeat(1000) }],
    ['a pattern', '!self.s.matches("x.{900}Z|y.{901}Z")', { s: 'xxyxyyyx'.repeat(2000) }],
  ])('of one rule counts %s', async (_claim, rule, spec) => {
    expect(await check({ rule }, spec)).toEqual([exceeded(rule)]);
  });

  it('of one rule names the rule by its message', async () => {
    const rule = { rule: 'self.names.all(a, self.names.all(b, a != "x" || b != "x"))', message: 'too slow' };
    expect(await check(rule, { names })).toEqual([exceeded('too slow')]);
  });

  it('of an expression for a message ends the rules as well', async () => {
    const messageExpression = 'self.names.map(a, self.names.map(b, a + b).join("")).join("")';
    expect(await check({ rule: 'self.n < 4', messageExpression }, { n: 5, names })).toEqual([
      `spec: Invalid value: no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`,
    ]);
  });

  it('of all rules together ends them, and lets others have their turns meanwhile', async () => {
    const rules = Array.from({ length: 40 }, () => ({ rule: 'self.names.all(a, self.names.exists(b, b == a))' }));
    const schema = schemaWith(...rules);
    const validation = new Validation();
    let turns = 0;
    const count = () => {
      turns++;
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);
    const few = names.slice(0, 400);
    await compileRules(readStructural(schema))!.check({ spec: { names: few } }, undefined, validation);
    clearImmediate(turn);
    expect(validation.faults.map(fieldErrorText)).toEqual([`spec: ${over}`]);
    expect(turns).toBeGreaterThan(2);
  });

  it('of all rules together counts those of list items', async () => {
    const items = {
      type: 'string',
      'x-kubernetes-validations': [{ rule: '[1,2,3,4,5,6,7,8].all(x, x > 0) && self != ""' }],
    };
    const schema = { type: 'object', properties: { list: { type: 'array', items } } };
    const validation = new Validation();
    const list = Array.from({ length: 300_000 }, () => 'x');
    await compileRules(readStructural(schema))!.check({ list }, undefined, validation);
    expect(validation.faults).toEqual([
      { reason: 'FieldValueInvalid', field: expect.stringMatching(/^list\[\d+\]$/), message: over },
    ]);
  });
});

it('fields that are called like something of every object are fields like others', async () => {
  const odd = ['constructor', 'toString', 'hasOwnProperty', '__proto__', 'prototype'];
  const properties = Object.fromEntries(odd.map((name) => [name, text]));
  const spell = (name: string) => (name === '__proto__' ? '__underscores__proto__underscores__' : name);
  const rule = odd.map((name) => `(!has(self.${spell(name)}) || self.${spell(name)} == "x")`).join(' && ');
  const spec = { type: 'object', properties, 'x-kubernetes-validations': [{ rule }] };
  const map = {
    type: 'object',
    additionalProperties: text,
    'x-kubernetes-validations': [{ rule: `self.all(k, self[k] == "x") && !("toString" in self)` }],
  };
  const schema = { type: 'object', properties: { spec, map } };
  expect(await faultsOfRules(schema)).toEqual([]);
  const faults = async (value: JsonObject) => {
    const validation = new Validation();
    await compileRules(readStructural(schema))!.check(value, undefined, validation);
    return validation.faults.length;
  };
  expect(await faults({ spec: {}, map: {} })).toBe(0);
  for (const name of odd) {
    const withOdd = (value: string) => JSON.parse(`{"${name}":"${value}"}`) as JsonObject;
    expect(await faults({ spec: withOdd('x'), map: name === 'toString' ? {} : withOdd('x') }), name).toBe(0);
    expect(await faults({ spec: withOdd('y'), map: {} }), name).toBe(1);
    expect(await faults({ spec: {}, map: withOdd('y') }), name).toBe(1);
  }
});

it('fields that are kept though nobody declares them are not there for rules, but make objects differ', async () => {
  const open = (rule: string) => ({
    type: 'object',
    properties: {
      spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule }] },
    },
  });
  expect((await faultsOfRules(open('has(self.constructor)'))).map(({ message }) => message)).toEqual([
    expect.stringContaining("undefined field 'constructor'"),
  ]);
  const rules = compileRules(readStructural(open('self == oldSelf')))!;
  const validation = new Validation();
  await rules.check({ spec: { a: 1 } }, { spec: { a: 1 } }, validation);
  expect(validation.faults).toEqual([]);
  await rules.check({ spec: { a: 1 } }, { spec: { a: 2 } }, validation);
  expect(validation.faults).toHaveLength(1);
});

it('an old value that is not what the schema says today fails the rule, not the server', async () => {
  const rule = { rule: 'self.n == oldSelf.n && self.when > oldSelf.when' };
  const old = { n: 1.5, when: 'yesterday' } as unknown as JsonObject;
  expect(await check(rule, { n: 1, when: '2020-01-01T00:00:00Z' }, old)).toHaveLength(1);
});

it('a rule that was stored and does not compile refuses objects with its fault', async () => {
  const validation = new Validation();
  await compileRules(readStructural(schemaWith({ rule: 'self.zz' })))!.check({ spec: {} }, undefined, validation);
  expect(validation.faults.map(fieldErrorText)).toEqual([
    "spec: Invalid value: rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'zz'\n | self.zz\n | ....^",
  ]);
});

it('a definition with many rules and many types is checked in time in proportion to it', async () => {
  await expectLinear('checking rules', {
    make: (size): JsonObject => {
      const fields = Array.from({ length: size }, (_, i) => [
        `f${i}`,
        { type: 'object', properties: { a: text }, 'x-kubernetes-validations': [{ rule: `self.a != "${i}"` }] },
      ]);
      const rules = [{ rule: 'has(self.f0.a)' }];
      return { type: 'object', properties: Object.fromEntries(fields), 'x-kubernetes-validations': rules };
    },
    run: async (schema) => expect(await faultsOfRules(schema)).toEqual([]),
    from: 200,
    limit: 20_000,
    rounds: 2,
  });
});

it('nested rules take time in proportion to the object', async () => {
  const nested = (depth: number): JsonObject => ({
    type: 'object',
    properties: { list: { type: 'array', items: text }, ...(depth > 0 && { inner: nested(depth - 1) }) },
    'x-kubernetes-validations': [{ rule: `has(self.list)${depth > 0 ? ' || has(self.inner)' : ''}` }],
  });
  const rules = compileRules(readStructural({ type: 'object', properties: { spec: nested(60) } }))!;
  const value = (depth: number, list: string[]): JsonObject =>
    depth === 0 ? { list } : { inner: value(depth - 1, list) };
  const cpuOf = async (depth: number) => {
    const object = {
      spec: value(
        depth,
        Array.from({ length: 100_000 }, (_, i) => `n${i}`),
      ),
    };
    const before = process.cpuUsage();
    await rules.check(object, undefined, new Validation());
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await cpuOf(60); // all rules are compiled
  await cpuOf(1);
  expect(await cpuOf(60)).toBeLessThan(10 * Math.max(await cpuOf(1), 2000)); // sixty times if each level began anew
});

it('a fault below a key of a map is told with the key, one below a field with the field', async () => {
  const rules = { 'x-kubernetes-validations': [{ rule: 'self.n < 4', fieldPath: '.n' }] };
  const part = { type: 'object', properties: { n: integer }, ...rules };
  const schema = {
    type: 'object',
    properties: {
      field: part,
      map: { type: 'object', additionalProperties: part },
      list: { type: 'array', items: part },
    },
  };
  const validation = new Validation();
  const many = { n: 5 };
  const value = { field: many, map: { foo: many, 'a.b': many }, list: [many] };
  await compileRules(readStructural(schema))!.check(value, undefined, validation);
  expect(validation.faults.map(({ field }) => field)).toEqual(['field.n', 'map[foo].n', 'map[a.b].n', 'list[0].n']);
});
