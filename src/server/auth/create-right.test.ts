import { expect, it } from 'vitest';
import { Registry } from '../registry/registry.ts';
import { alwaysAllow, mastersOnly } from './authorizer.ts';
import { CreateRight } from './create-right.ts';

const registry = new Registry();
const secrets = registry.find('', 'v1', 'secrets')!;
const configMaps = registry.find('', 'v1', 'configmaps')!;
const alice = { username: 'alice', groups: [] };

it('a right to create is good for what was asked for, and for nothing else', async () => {
  const named = await CreateRight.ask(alwaysAllow, alice, secrets, { namespace: 'x', name: 'a' });
  const any = await CreateRight.ask(alwaysAllow, alice, secrets, { namespace: 'x', name: '' });
  expect(() => named.check(secrets, 'x', 'a')).not.toThrow();
  expect(() => any.check(secrets, 'x', 'b')).not.toThrow();
  for (const right of [named, any]) {
    expect(() => right.check(secrets, 'y', 'a')).toThrow('the right is for something else');
    expect(() => right.check(configMaps, 'x', 'a')).toThrow('the right is for something else');
  }
  expect(() => named.check(secrets, 'x', 'b')).toThrow('the right is for something else');
});

it('whoever may not create gets no right', async () => {
  const asking = async () => CreateRight.ask(mastersOnly, alice, secrets, { namespace: 'x', name: 'a' });
  await expect(asking()).rejects.toMatchObject({
    code: 403,
    message:
      'secrets "a" is forbidden: User "alice" cannot create resource "secrets" in API group "" in the namespace "x"',
  });
});
