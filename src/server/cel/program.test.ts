import { expect, it } from 'vitest';
import { compileExpression } from './program.ts';
import { ExpressionError } from './syntax/syntax.ts';
import { Budget, BudgetError } from './values/budget.ts';
import { dyn } from './values/types.ts';
import { CelError, type Value } from './values/values.ts';

const fields = new Map<string, Value>([
  ['n', 3n],
  ['s', 'abc'],
  ['names', ['a', 'b']],
  ['labels', new Map([['k', 'v']])],
]);

const uuidAndDate = ['does not match the UUID format', 'invalid date'];

function run(text: string, self: Value = fields, budget = new Budget(1_000_000)): Value {
  return compileExpression(text, [{ name: 'self', type: dyn }]).run([self], budget);
}

it.each<[text: string, want: Value]>([
  ['1 + 2 * 3 - 4 / 2 % 3', 5n],
  ['-9223372036854775808', -(2n ** 63n)],
  ['1.5e3 + .5', 1500.5],
  ["'a' + \"b\" + r'\\n' + '''c\"d'''", 'ab\\nc"d'],
  ['"\\u00e4\\x41\\101\\n"', 'äAA\n'],
  ['b"\\xff\\141" == bytes("a") || b"ä".size() == 2', true],
  ['1 < 1.5 && 2u > 1 && 1.0 <= 1', true],
  ['true ? "y" : "n"', 'y'],
  ['!false && !(1 == 2)', true],
  ['1 / 0 == 1 || true', true],
  ['false && 1 / 0 == 1', false],
  ['1 / 0 == 1 && false', false],
  ['[1, 2, 3].all(x, x > 0)', true],
  ['[1, 2].exists(x, 1 / (x - 1) == 1)', true],
  ['[1, 2, 2].exists_one(x, x == 2)', false],
  ['[1, 2].map(x, x * 2)', [2n, 4n]],
  ['[1, 2, 3].map(x, x > 1, x)', [2n, 3n]],
  ['{"a": 1}.map(k, k)', ['a']],
  ['{"a": 1}.all(k, v, k == "a" && v == 1)', true],
  ['[7].exists(i, v, i == 0 && v == 7)', true],
  ['["a"].transformList(i, v, v + string(i))', ['a0']],
  ['{"a": 1}.transformMap(k, v, v + 1)', new Map([['a', 2n]])],
  ['cel.bind(x, 5, x + x)', 10n],
  ['"a" in {"a": 1} && 2 in [1, 2] && !(3 in [1, 2])', true],
  ['{"constructor": 1, "__proto__": 2}["__proto__"]', 2n],
  ['has({"__proto__": 2}.toString)', false],
  ['self.n > 2 && has(self.s) && !has(self.zz) && !has(self.constructor)', true],
  ['has(self.s.x) || has(dyn(null).x) || dyn(null).?x.hasValue()', false],
  ['self.?zz.orValue(self.?s.orValue("x"))', 'abc'],
  ['self.?labels.?k.optMap(v, v + "!").value()', 'v!'],
  ['optional.none().orValue(5) + optional.of(1).value()', 6n],
  ['[?optional.none(), ?optional.of(2)]', [2n]],
  ['"a😀b".size() == 3 && "a😀b".charAt(1) == "😀" && "a😀b".substring(2) == "b"', true],
  ['"abcb".indexOf("b", 2) == 3 && "abcb".lastIndexOf("b") == 3 && "x".indexOf("y") == -1', true],
  ['"aaaaaaaaaaaab".indexOf("aaaaaaaaaab") == 2 && "baaaaaaaaaaaa".lastIndexOf("baaaaaaaaa") == 0', true],
  ['"a,b,c".split(",", 2) + "ab".split("")', ['a', 'b,c', 'a', 'b']],
  ['"aba".replace("a", "xx") + "aba".replace("a", "y", 1) + "ab".replace("", "-")', 'xxbxxyba-a-b-'],
  ['["a", "b"].join("-") + " X ".trim().lowerAscii() + "äb".upperAscii()', 'a-bxäB'],
  ['"%s %d %.2f %x %b %s".format(["a", 1, 1.5, 255, 5, [1, 2]])', 'a 1 1.50 ff 101 [1, 2]'],
  ['"a1b22".findAll("[0-9]+") + ["a1b22".find("[0-9]+")]', ['1', '22', '1']],
  [
    '[3, 1, 2].sort().reverse() + [1, 1, 2].distinct() + [[4]].flatten() + [5, 6, 7].slice(1, 2)',
    [3n, 2n, 1n, 1n, 2n, 4n, 6n],
  ],
  ['sets.contains([dyn(1), dyn(2.0)], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])', true],
  ['timestamp("2020-02-29T23:59:59.5Z").getDayOfYear() == 59 && timestamp(0).getFullYear() == 1970', true],
  ['timestamp("2020-07-01T00:00:00Z").getHours("Europe/Berlin") + timestamp(0).getHours("-01:30")', 24n],
  ['timestamp("2020-01-01T00:00:00Z") + duration("1h") - timestamp("2020-01-01T00:30:00Z") == duration("30m")', true],
  ['string(timestamp(1)) + string(duration("90s")) + string(1.5) + string(true)', '1970-01-01T00:00:01Z90s1.5true'],
  ['int("-5") + int(2.9) + int(3u) + int(timestamp(4))', 4n],
  ['type(1) == int && type("a") == string && type([]) != map && type(null) == null_type', true],
  ['quantity("1k") == quantity("1000") && quantity("1Gi").add(1).isInteger()', true],
  ['url("https://a.io:8/x?q=1&q=2").getQuery()["q"]', ['1', '2']],
  [
    'ip("::1").isLoopback() && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && ip("10.0.0.1") == ip("10.0.0.1")',
    true,
  ],
  ['[3, 1, 2].sortBy(x, -x)', [3n, 2n, 1n]],
  ['[[1], [2, 3]].flatten() + [[[4]]].flatten(2)', [1n, 2n, 3n, 4n]],
  ['lists.range(3) + [[7, 8].first().value(), [7, 8].last().value()]', [0n, 1n, 2n, 7n, 8n]],
  ['{"a": 1}.transformMapEntry(k, v, {v: k})', new Map([[1n, 'a']])],
  ['strings.quote("a\\"b\\n")', '"a\\"b\\n"'],
  ['semver("1.10.0").isGreaterThan(semver("1.9.0")) && semver("1.0.0-rc.2").isLessThan(semver("1.0.0-rc.10"))', true],
  ['isSemver("1.2.3+b") && !isSemver("v1.2") && isSemver("v1.2", true) && semver("01.2", true).major() == 1', true],
  ['format.dns1123Label().validate("Not OK").value().size() == 1 && !format.named("nope").hasValue()', true],
  ['format.uuid().validate("x").value() + format.date().validate("2021-13-01").value()', uuidAndDate],
  ['string(cidr("10.1.2.3/12").masked()) + string(cidr("2001:db8:1::1/40").masked())', '10.0.0.0/122001:db8::/40'],
  ['ip.isCanonical("::1") && !ip.isCanonical("0:0::1") && ip("8.8.8.8").isGlobalUnicast()', true],
  ['[true ? [] : [1], [2]].flatten()', [2n]],
])('%s', (text, want) => expect(run(text)).toEqual(want));

it.each<[text: string, why: string]>([
  ['1 / 0', 'division by zero'],
  ['1 % 0', 'modulus by zero'],
  ['9223372036854775807 + 1', 'integer overflow'],
  ['self.zz', 'no such key: zz'],
  ['self.constructor', 'no such key: constructor'],
  ['self["__proto__"]', 'no such key: __proto__'],
  ['self.names[5]', 'index out of bounds: 5'],
  ['self.s + self.n', 'no such overload'],
  ['self.s.substring(9)', 'index out of range: 9'],
  ['[].min()', 'min called on empty list'],
  ['optional.none().value()', 'optional.none() dereference'],
  ['[1, 2].all(x, x / 0 == 1)', 'division by zero'],
  ['self.s.matches(self.s + "(")', 'error parsing regexp: missing closing ): `abc(`'],
  ['timestamp(self.s)', "type conversion error from 'string' to 'google.protobuf.Timestamp'"],
  ['int("5a")', "type conversion error from 'string' to 'int'"],
  ['int("9223372036854775808")', "type conversion error from 'string' to 'int'"],
  ['uint("-1")', "type conversion error from 'string' to 'uint'"],
  ['dyn(null).a', 'no such key: a'],
  ['self.s.a', 'no such key: a'],
  ['self.names.a', "unsupported index type 'string' in list"],
  ['self.labels[5]', 'no such key: 5'],
])('%s fails', (text, why) => {
  expect(() => run(text)).toThrow(expect.objectContaining({ message: why }));
  expect(new CelError(why)).not.toBeInstanceOf(Error); // a stack for each would cost more than all the rest
});

const starts =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

it.each<[text: string, why: string | RegExp]>([
  [
    'a/b',
    "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a/b\n | ^\nERROR: <input>:1:3: undeclared reference to 'b' (in container '')\n | a/b\n | ..^",
  ],
  [
    '',
    new RegExp(
      `^ERROR: <input>:1:1: Syntax error: mismatched input '<EOF>' expecting ${starts.replace(/[{}[(.]/g, '\\$&')}$`,
    ),
  ],
  ["'v'x", "ERROR: <input>:1:4: Syntax error: extraneous input 'x' expecting <EOF>\n | 'v'x\n | ...^"],
  [
    'Bad Value_!',
    "ERROR: <input>:1:5: Syntax error: mismatched input 'Value_' expecting <EOF>\n | Bad Value_!\n | ....^",
  ],
  ['object.', "ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^"],
  [
    "request.user = 'test'",
    "ERROR: <input>:1:14: Syntax error: token recognition error at: '= '\n | request.user = 'test'\n | .............^\nERROR: <input>:1:16: Syntax error: extraneous input ''test'' expecting <EOF>\n | request.user = 'test'\n | ...............^",
  ],
  [
    '*@a | b',
    `ERROR: <input>:1:1: Syntax error: extraneous input '*' expecting ${starts}\n | *@a | b\n | ^\nERROR: <input>:1:2: Syntax error: token recognition error at: '@'\n | *@a | b\n | .^\nERROR: <input>:1:5: Syntax error: token recognition error at: '| '\n | *@a | b\n | ....^\nERROR: <input>:1:7: Syntax error: extraneous input 'b' expecting <EOF>\n | *@a | b\n | ......^`,
  ],
  ["self.matches('^[^\\S]')", "ERROR: <input>:1:14: Syntax error: token recognition error at: ''^[^\\S'"],
  ["self['x", "Syntax error: token recognition error at: ''x'"],
  ['self.size(]', `mismatched input ']' expecting ${starts.replace("'('", "'(', ')'")}`],
  ['(1', "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"],
  ['[1, 2', "missing ']' at '<EOF>'"],
  ['(1 2)', "ERROR: <input>:1:4: Syntax error: extraneous input '2' expecting ')'\n | (1 2)\n | ...^"],
  ['0xFFFFFFFFFFFFFFFFF', 'ERROR: <input>:1:1: invalid int literal\n | 0xFFFFFFFFFFFFFFFFF\n | ^'],
  ['[1, "a"]', "expected type 'int' but found 'string'"],
  ['1 == 1.0', "found no matching overload for '_==_' applied to '(int, double)'"],
  ['1.all(x, true)', 'expression of type'],
  ['has(self)', 'invalid argument to has() macro'],
  ['[1].all(1, true)', 'argument must be a simple name'],
  ['"\\q"', `token recognition error at: '"\\q'`],
  ['"abc', 'token recognition error'],
  [`${'!'.repeat(300)}true`, 'expression recursion limit exceeded: 250'],
  ['timestamp("no")', 'ERROR: <input>:1:11: invalid timestamp argument'],
  ['duration("1 hour")', 'invalid duration argument'],
  ['"a".matches("(")', 'ERROR: <input>:1:13: invalid matches argument'],
  ['Object{a: 1}', "undeclared reference to 'Object' (in container '')"],
  ['jsonpatch.escapeKey("a")', "undeclared reference to 'jsonpatch' (in container '')"],
])('%j does not compile', (text, why) => {
  expect(() => run(text)).toThrow(ExpressionError);
  expect(() => run(text)).toThrow(why);
});

/** As kube-apiserver counts. */
it.each<[text: string, cost: number]>([
  ['true', 0],
  ['self.n', 2],
  ['self.n == 3', 3],
  ['[1, 2, 3].all(x, x > 0)', 10 + 3 * (3 + 2)],
  ['self.s.contains("b")', 3],
  ['self.s.startsWith("b")', 3],
  ['self.s + self.s', 5],
  ['1 in [1, 2]', 12],
])('%s costs %d', (text, cost) => {
  const budget = new Budget(1000);
  run(text, fields, budget);
  expect(budget.spent).toBe(cost);
});

const many = Array.from({ length: 20_000 }, (_, i) => `n${i}`);
const large = new Map<string, Value>([
  ['names', many],
  ['s', 'a'.repeat(90_000)],
  ['u', 'ä😀'.repeat(30_000)],
  ['objects', many.map((name) => new Map([['name', name]]))],
]);

it.each([
  'self.names.all(x, !self.s.contains(x))',
  `self.s${'.replace("a", "aa")'.repeat(25)} == ""`,
  `self.s.replace("", self.s) == ""`,
  `cel.bind(a, self.s + self.s, ${Array.from({ length: 25 }, () => 'cel.bind(a, a + a, ').join('')}a == ""${')'.repeat(25)})`,
  `cel.bind(a, self.names, ${Array.from({ length: 25 }, () => 'cel.bind(a, a + a, ').join('')}a == []${')'.repeat(25)})`,
  'self.names.all(x, self.names.all(y, self.names.all(z, x != y || y != z || true)))',
  'self.names.map(x, self.names).size() > 0 && self.names.map(x, self.names.map(y, y)).size() > 0',
  'self.names.all(x, x in self.names)',
  'self.names.all(x, self.objects == self.objects)',
  'self.names.all(x, self.names.sort().size() > 0)',
  'self.names.all(x, sets.contains(self.names, self.names))',
  'self.names.all(x, self.s.split("").size() > 0)',
  'self.names.all(x, self.u.size() > 0)',
  'self.names.all(x, self.u.lowerAscii() != x)',
  'self.names.all(x, self.s.indexOf("aaaaaaaaaaaaaaaaab") < 0)',
  'self.names.all(x, !self.u.matches("(.{0,30}){0,30}Z$"))',
  'self.u.matches("ä.{900}Z|😀.{901}Y")',
  'self.names.all(x, self.s.findAll("a").size() > 0)',
  'self.names.all(x, "%s".format([self.objects]) != "")',
  'self.names.all(x, self.names.join(",") != "")',
  '[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3].all(f, a + b + c + d + e + f > 0))))))',
  'self.names.all(x, self.names.all(y, 1 / 0 == 1))',
])('%s is ended by its budget, which nothing inside it catches', (text) => {
  const budget = new Budget(1_000_000);
  expect(() => run(`(${text}) || true`, large, budget)).toThrow(BudgetError);
});

it('of an expression that is nothing but faults thirty are told', () => {
  for (const text of ['@'.repeat(9000), '* a '.repeat(2000)]) {
    try {
      compileExpression(text, []);
      expect.unreachable();
    } catch (err) {
      expect((err as Error).message.match(/ERROR/g)).toHaveLength(text.startsWith('@') ? 30 : 2);
    }
  }
});
