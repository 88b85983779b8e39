import { expect, it } from 'vitest';
import type { JsonObject } from '../../../api/index.ts';
import { apply, find, refusals } from '../strategy-run.testing.ts';

const classes = find('deviceclasses.resource.k8s.io');
const claims = find('resourceclaims.resource.k8s.io');
const selector = (expression: string): JsonObject => ({ cel: { expression } });
const classOf = (...expressions: string[]): JsonObject => ({ spec: { selectors: expressions.map(selector) } });
const at = (index: number) => `spec.selectors[${index}].cel.expression`;

it.each([
  'true',
  "device.driver == 'd.example.com'",
  'device.attributes["d.example.com"].on',
  'device.attributes["d.example.com"].count > 1',
  'cel.bind(dra, device.attributes["d.example.com"], dra.on && dra.off)',
  '"model" in device.attributes["d.example.com"]',
  'device.capacity["d.example.com"].memory.isGreaterThan(quantity("1Gi"))',
  'device.attributes["d.example.com"].driverVersion.isGreaterThan(semver("1.0.0"))',
  'device.allowMultipleAllocations == true',
])('the selector %s is accepted', async (expression) =>
  expect((await apply(classes, classOf(expression))).errors).toEqual([]),
);

const undeclared = (name: string) => `undeclared reference to '${name}' (in container '')`;
it.each<[expression: string, why: string]>([
  ['nope.x == 1', `compilation failed: ERROR: <input>:1:1: ${undeclared('nope')}\n | nope.x == 1\n | ^`],
  ['device.nope', "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^"],
  ['1 + 1', 'must evaluate to bool or the unknown type, not int'],
  ['device.driver', 'must evaluate to bool or the unknown type, not string'],
  ['dyn(true)', 'must evaluate to bool or the unknown type, not dyn'],
])('the selector %s is refused: %s', async (expression, why) =>
  expect((await apply(classes, classOf('true', expression))).errors).toEqual([
    `${at(1)}: Invalid value: ${JSON.stringify(expression)}: ${why}`,
  ]),
);

it('an expression that is missing does not compile either', async () => {
  const { errors } = await apply(classes, { spec: { selectors: [{ cel: {} }, {}] } });
  expect(errors).toEqual([
    `${at(0)}: Invalid value: "": compilation failed: ERROR: <input>:1:1: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`,
    'spec.selectors[1].cel: Required value',
  ]);
});

it('an expression that is long or dear is refused for that alone', async () => {
  const dear =
    'device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.driver.matches(a + b + c))))';
  const { errors } = await apply(classes, classOf(`true${' '.repeat(10 * 1024)}`, dear));
  expect(errors).toEqual([
    `${at(0)}: Too long: may not be more than 10240 bytes`,
    `${at(1)}: Forbidden: too complex, exceeds cost limit`,
  ]);
});

it('claims are told of every request of theirs', async () => {
  const exactly = { deviceClassName: 'c', selectors: [selector('1')] };
  const requests = [
    { name: 'a', exactly },
    { name: 'b', firstAvailable: [{ name: 'x', ...exactly }] },
  ];
  const why = 'Invalid value: "1": must evaluate to bool or the unknown type, not int';
  expect((await apply(claims, { spec: { devices: { requests } } })).errors).toEqual([
    `spec.devices.requests[0].exactly.selectors[0].cel.expression: ${why}`,
    `spec.devices.requests[1].firstAvailable[0].selectors[0].cel.expression: ${why}`,
  ]);
});

it('selectors that were accepted stay, and new ones are judged with all others', async () => {
  const run = await apply(classes, classOf('1')); // stored by a server that took it
  expect(await refusals(run, { ...run.created, metadata: { ...run.created.metadata, labels: { a: 'b' } } })).toEqual(
    [],
  );
  expect(await refusals(run, { ...run.created, ...classOf('1', 'true') })).toEqual([
    `${at(0)}: Invalid value: "1": must evaluate to bool or the unknown type, not int`,
  ]);
});
