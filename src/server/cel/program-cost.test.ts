import { expect, it } from 'vitest';
import { AuthorizerValue } from './library/authorizer-functions.ts';
import { library } from './library/library.ts';
import { compileExpression, type Program } from './program.ts';
import { Budget, BudgetError } from './values/budget.ts';
import { type CelType, dyn, listOf, mapOf, plainType, readType, string } from './values/types.ts';

/** A million units of plain steps take some ten milliseconds; of anything else no more than ten times that. */
const MOST_TIMES = 10;
const UNITS = 100_000;
const ROUNDS = 3;
const TRIES = 5;

const COUNT = 8_000;
const texts = Array.from({ length: COUNT }, (_, i) => `v${i}`);
const fields: Readonly<Record<string, readonly [type: CelType, value: unknown]>> = {
  list: [listOf(string), texts],
  other: [listOf(string), texts.slice()],
  nums: [listOf(plainType('int')), texts.map((_, i) => BigInt(i))],
  map: [mapOf(string, string), new Map(texts.map((text) => [text, text]))],
  any: [dyn, texts.map((text) => new Map([['a', [text]]]))],
  long: [string, 'a'.repeat(100_000)],
  wide: [string, 'ä😀'.repeat(30_000)],
  short: [string, '0123456789.'.repeat(20)],
  authorizer: [readType('Authorizer'), new AuthorizerValue(() => ({ allowed: false }))],
};

/** `list.all(x, … || true)` unless it says otherwise: what is done again and again. */
const repeated: readonly string[] = [
  ...['x == x + x', 'x != long', 'x < long && x <= x && x > x && x >= x', 'x in list', 'x in map', 'map[x] == x'],
  ...['list == other', 'map == map', 'any == any', '[x, x] == [x]', "{'a': x} == {'b': x}", 'list + other == list'],
  ...['1 + 2 - 3 * 4 / 5 % 6 == -7', '!(1.5 > 2.5)', 'type(x) == string', 'dyn(x) == x', 'has({"a": 1}.b)'],
  ...[
    "list[9999999] == ''",
    "map['none'] == ''",
    'list.exists(y, false)',
    'list.all(y, false)',
    'list.exists_one(y, y == x)',
  ],
  ...['list.map(y, y).size() == 1', 'list.filter(y, y == x).size() == 1', 'any.all(a, a.a == [x])'],
  ...["long.contains('zz')", 'long.contains(long)', "wide.contains('zz')", "x.startsWith('v') && x.endsWith('1')"],
  ...[
    "long.indexOf('zz') == 1",
    "wide.indexOf('zz', 5) == 1",
    "long.lastIndexOf('zz') == 1",
    "wide.lastIndexOf('zz') == 1",
  ],
  ...["long.replace('a', 'b') == ''", "wide.replace('😀', 'b', 3) == ''", "x.replace('', 'b') == ''"],
  ...[
    "short.split('.').size() == 1",
    "short.split('').size() == 1",
    "long.split('', 5).size() == 1",
    "list.join(x) == ''",
  ],
  ...["short.lowerAscii() == ''", "long.upperAscii() == ''", "wide.upperAscii() == ''", "long.trim() == ''"],
  ...["long.reverse() == ''", "wide.reverse() == ''", "wide.charAt(30000) == ''", "wide.substring(10000, 20000) == ''"],
  ...["wide.substring(10000) == ''", 'size(wide) == 1', 'size(list) == 1 || size(map) == 1', 'size(bytes(x)) == 1'],
  ...["'%s %s'.format([x, short]) == ''", "'%d %f %e %x'.format([5, 1.5, 2.5, 255]) == ''", "'%s'.format([map]) == ''"],
  ...["x.matches('^(a+)+$')", "short.matches('(.{0,100}){0,9}Z$')", "wide.matches('\\\\p{L}+x')", 'x.matches(x)'],
  ...["short.find('[0-9]+$') == ''", "short.findAll('[0-9]').size() > 1", "long.findAll('a', 9).size() > 1"],
  ...['list.isSorted()', 'nums.sum() == 1', 'nums.min() == 1', "list.max() == ''", "list.indexOf('zz') == 1"],
  ...[
    "list.lastIndexOf('zz') == 1",
    'list.distinct().size() == 1',
    'list.sort().size() == 1',
    'list.reverse().size() == 1',
  ],
  ...[
    'list.slice(0, 5000).size() == 1',
    '[list, other].flatten().size() == 1',
    'sets.contains(list, [x])',
    'sets.equivalent([x], list)',
    "sets.intersects(list, ['q'])",
  ],
  ...["duration('1h2m3s') > duration(x)", "duration('1h2m3s').getHours() == 1", "string(duration('1h')) == ''"],
  ...[
    "timestamp('2020-01-01T00:00:00Z').getFullYear() == 1",
    'timestamp(x) == timestamp(5)',
    'duration(5) == duration("1s")',
  ],
  ...["timestamp('2020-01-01T00:00:00Z').getHours('America/New_York') == 1", 'timestamp(5).getMonth() == 1'],
  ...['timestamp(5).getDate() == 1', 'timestamp(5).getDayOfMonth() == 1', 'timestamp(5).getDayOfWeek() == 1'],
  ...['timestamp(5).getDayOfYear() == 1', 'timestamp(5).getMinutes() == 1', 'timestamp(5).getSeconds() == 1'],
  ...[
    'timestamp(5).getMilliseconds() == 1',
    "string(timestamp(5)) == ''",
    'timestamp(5) - timestamp(4) == duration("1s")',
  ],
  ...["int('5') == 1", 'int(short) == 1', 'int(x) == 1', 'uint(5) == 1u', "double('1.5') == 1.0", "string(1.5) == ''"],
  ...["bool('true')", "bytes(short) == b''", "string(bytes(short)) == ''", 'double(5) == 1.0', "string(5) == ''"],
  ...["quantity('1.5Gi').isGreaterThan(quantity('1'))", "quantity('1').isLessThan(quantity('2'))", 'isQuantity(x)'],
  ...["quantity('1.5Gi').add(quantity('1')).sub(5).asInteger() == 1", "quantity('1').compareTo(quantity('2')) == 5"],
  ...["quantity('1').sign() == 5", "quantity('1').isInteger() == false", "quantity('1').asApproximateFloat() == 5.0"],
  ...[
    "url('http://a.b:80/x?y=z').getHost() == 'a'",
    "url('http://a.b/?y=z&b=c').getQuery().size() == 9",
    'isURL(short)',
  ],
  ...[
    "url('http://a.b/').getScheme() == ''",
    "url('http://a.b/').getHostname() == ''",
    "url('http://a.b/').getPort() == ''",
  ],
  ...["url('http://a.b/').getEscapedPath() == ''", 'isIP(x)', "ip('fe80::1').isLoopback()", "ip('::1').family() == 5"],
  ...["ip('::1').isUnspecified()", "ip('::1').isLinkLocalUnicast()", "ip('::1').isLinkLocalMulticast()", 'isCIDR(x)'],
  ...["cidr('10.0.0.0/8').containsIP('10.1.2.3')", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')"],
  ...["cidr('10.0.0.0/8').ip() == ip('::1')", "cidr('10.0.0.0/8').prefixLength() == 5", "string(ip('::1')) == ''"],
  ...["strings.quote(long) == ''", 'strings.quote(x) == x', 'list.first().hasValue()', 'list.last().orValue("") == x'],
  ...['lists.range(5000).size() == 1', 'list.flatten(2).size() == 1', 'list.sortBy(y, y).size() == 1'],
  ...[
    'list.transformMapEntry(i, y, {y: i}).size() == 1',
    "ip.isCanonical('FE80::1')",
    "ip('fe80::1').isGlobalUnicast()",
  ],
  ...["cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "cidr('fe80::1/10').masked() == cidr('::/0')"],
  ...["isSemver(x) || isSemver('1.2.3-rc.1+b')", "semver('1.2.3').isGreaterThan(semver('v1', true))"],
  ...["semver('1.2.3').compareTo(semver('1.2.3-a.b.c')) == 5", "semver('1.2.3').isLessThan(semver('0.1.0'))"],
  ...["semver('1.2.3').major() == 5", "semver('1.2.3').minor() == 5", "semver('1.2.3').patch() == 5"],
  ...['dns1123Label', 'dns1123Subdomain', 'dns1035Label', 'qualifiedName', 'labelValue'].flatMap((name) => [
    `format.${name}().validate(x).hasValue()`,
    `format.${name}().validate(short).hasValue()`,
  ]),
  ...['format.dns1123LabelPrefix()', 'format.dns1123SubdomainPrefix()', 'format.dns1035LabelPrefix()'].map(
    (format) => `${format}.validate(short).hasValue()`,
  ),
  ...['format.uri()', 'format.uuid()', 'format.byte()', 'format.date()', 'format.datetime()'].flatMap((format) => [
    `${format}.validate(x).hasValue()`,
    `${format}.validate(long).hasValue()`,
  ]),
  ...["format.named('uri').hasValue()", "authorizer.path(x).check('get').error() == x"],
  ...["authorizer.group('').resource('pods').namespace(x).name(x).subresource('a').check(x).allowed()"],
  ...["authorizer.group('').resource('p').fieldSelector(x).labelSelector(x).check(x).reason() == ''"],
  ...["authorizer.serviceAccount('default', x).group(x).resource(x).check('get').errored()"],
  ...['optional.of(x).value() == ""', 'optional.none().hasValue()', "optional.ofNonZeroValue(x).orValue('') == ''"],
];

const variables = Object.entries(fields).map(([name, [type]]) => ({ name, type }));
const values = Object.values(fields).map(([, value]) => value);
const reference = compileExpression('nums.all(x, nums.all(y, x + y >= 0))', variables);

/** CPU time of a unit, at best. */
function unitNs(program: Program): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const budget = new Budget(UNITS);
    const before = process.cpuUsage();
    try {
      program.run(values, budget);
    } catch (err) {
      expect(err).toBeInstanceOf(BudgetError);
    }
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, ((user + system) * 1000) / Math.min(UNITS, budget.spent));
  }
  return best;
}

it('no expression does more for a unit of cost than ten times what a plain step does', () => {
  const slow: string[] = [];
  for (const text of repeated) {
    const program = compileExpression(`list.all(x, ${text} || true)`, variables);
    let ratio = Number.POSITIVE_INFINITY;
    // What is too dear is so every time; a machine that is busy at the moment is not.
    for (let attempt = 0; attempt < TRIES && ratio > MOST_TIMES; attempt++)
      ratio = Math.min(ratio, unitNs(program) / unitNs(reference));
    if (ratio > MOST_TIMES) slow.push(`${text}: ${ratio.toFixed(1)}`);
  }
  expect(slow).toEqual([]);
}, 60_000);

it('every function that there is has its expression here', () => {
  const all = repeated.join('\n');
  const missing = [...library().names].filter((name) => !/[^\w.]/.test(name) && !all.includes(`${name}(`));
  expect(missing).toEqual([]);
});
