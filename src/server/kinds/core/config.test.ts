import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject } from '../../../api/index.ts';
import { apply, find, refusals, warningsOf } from '../strategy-run.testing.ts';

const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or " +
  "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

it.each<[kind: string, body: JsonObject, want: string[]]>([
  [
    'configmaps',
    { data: { k: 'v' }, binaryData: { k: 'AAEC' } },
    ['data[k]: Invalid value: "k": duplicate of key present in binaryData'],
  ],
  ['configmaps', { data: { 'no/slash': 'x' } }, [`data[no/slash]: Invalid value: "no/slash": ${keyText}`]],
  ['configmaps', { data: { '..': 'x' } }, ['data[..]: Invalid value: "..": must not be \'..\'']],
  ['configmaps', { data: { k: 'x'.repeat(1024 * 1024 + 1) } }, [': Too long: may not be more than 1048576 bytes']],
  ['secrets', { data: { 'a b': 'eA==' } }, [`data[a b]: Invalid value: "a b": ${keyText}`]],
  [
    'secrets',
    { data: { k: 'dg==' }, type: 'kubernetes.io/tls' },
    ['data[tls.crt]: Required value', 'data[tls.key]: Required value'],
  ],
  [
    'secrets',
    { data: { k: 'dg==' }, type: 'kubernetes.io/basic-auth' },
    ['data[username]: Required value', 'data[password]: Required value'],
  ],
])('%s %j', async (kind, body, want) => {
  const { errors } = await apply(find(kind), body);
  expect(errors).toEqual(want);
});

it('the texts of a secret are merged into its data and win', async () => {
  const body = { data: { k: 'b2xk', keep: 'eA==' }, stringData: { k: 'new', more: 'text' } };
  const { created } = await apply(find('secrets'), body);
  expect(created).toMatchObject({ type: 'Opaque', data: { k: 'bmV3', keep: 'eA==', more: 'dGV4dA==' } });
  expect(created.stringData).toBeUndefined();
});

it('what is sealed stays as it is', async () => {
  const { created, strategy } = await apply(find('configmaps'), { data: { k: 'v' }, immutable: true });
  const changed = { ...created, data: { k: 'other' } };
  const { immutable: _immutable, ...open } = created;
  expect(strategy.validateUpdate?.(changed, created).map(fieldErrorText)).toEqual([
    'data: Forbidden: field is immutable when `immutable` is set',
  ]);
  expect(strategy.validateUpdate?.(open as typeof created, created).map(fieldErrorText)).toEqual([
    'immutable: Forbidden: field is immutable when `immutable` is set',
  ]);
});

it('a secret may be of a type that begins like one with rules', async () => {
  expect(
    (await apply(find('secrets'), { type: 'kubernetes.io/dockerconfigjson2', data: { k: 'dg==' } })).errors,
  ).toEqual([]);
});

it('the type of a secret cannot change', async () => {
  const { created, strategy } = await apply(find('secrets'), { type: 'example.com/mine' });
  expect(strategy.validateUpdate?.({ ...created, type: 'Opaque' }, created).map(fieldErrorText)).toEqual([
    'type: Invalid value: "Opaque": field is immutable',
  ]);
});

it.each([
  ['{', 'unexpected end of JSON input'],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['[]', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
  ['null', undefined],
])('whether %j can configure docker: %s', async (text, problem) => {
  const stringData = { '.dockerconfigjson': text };
  const { errors } = await apply(find('secrets'), { type: 'kubernetes.io/dockerconfigjson', stringData });
  const path = 'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>"';
  expect(errors).toEqual(problem ? [`${path}: ${problem}`] : []);
});

const pem = (type: string) => `-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`;
it.each([
  ['x', 'y', 'tls: failed to find any PEM data in certificate input'],
  [
    pem('PRIVATE KEY'),
    'y',
    'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
  ],
  [
    pem('A') + pem('B'),
    'y',
    'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
  ],
  [pem('CERTIFICATE'), 'y', 'tls: failed to find any PEM data in key input'],
  [pem('CERTIFICATE'), pem('CERTIFICATE'), 'tls: found a certificate rather than a key in the PEM for the private key'],
])('a certificate %j with the key %j is told of', async (certificate, key, want) => {
  const stringData = { 'tls.crt': certificate, 'tls.key': key };
  const run = await apply(find('secrets'), { type: 'kubernetes.io/tls', stringData });
  expect([run.errors, warningsOf(run)]).toEqual([[], [want]]);
});

it('nothing may be added to what is sealed, not even an empty text', async () => {
  const run = await apply(find('configmaps'), { data: { a: 'b' }, immutable: true });
  expect(await refusals(run, { ...run.created, data: { a: 'b', c: '' } })).toEqual([
    'data: Forbidden: field is immutable when `immutable` is set',
  ]);
});
