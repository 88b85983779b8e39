import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject } from '../../api/index.ts';
import { apply, find } from './rules-run.testing.ts';

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
  const { created, rules } = await apply(find('configmaps'), { data: { k: 'v' }, immutable: true });
  const changed = { ...created, data: { k: 'other' } };
  const { immutable: _immutable, ...open } = created;
  expect(rules.validateUpdate?.(changed, created).map(fieldErrorText)).toEqual([
    'data: Forbidden: field is immutable when `immutable` is set',
  ]);
  expect(rules.validateUpdate?.(open as typeof created, created).map(fieldErrorText)).toEqual([
    'immutable: Forbidden: field is immutable when `immutable` is set',
  ]);
});

it('the type of a secret cannot change', async () => {
  const { created, rules } = await apply(find('secrets'), { type: 'example.com/mine' });
  expect(rules.validateUpdate?.({ ...created, type: 'Opaque' }, created).map(fieldErrorText)).toEqual([
    'type: Invalid value: "Opaque": field is immutable',
  ]);
});
