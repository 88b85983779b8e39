import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import { hasGivenEmpty, isGivenEmpty } from '../../api/given-empty.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import { checkObject } from './check-object.ts';

const schema = (group: string, version: string, kind: string) => builtInSchemas().byKind(group, version, kind)!;
const webhooks = schema('admissionregistration.k8s.io', 'v1', 'MutatingWebhookConfiguration');

it('what was sent empty is left out, and known to have been sent', () => {
  const sent = { spec: { behavior: { scaleUp: { policies: [] }, scaleDown: {} } } };
  const { object } = checkObject(sent, schema('autoscaling', 'v2', 'HorizontalPodAutoscaler'));
  const { scaleUp, scaleDown } = (object as typeof sent).spec.behavior;
  expect(scaleUp).toEqual({});
  expect([isGivenEmpty(scaleUp, 'policies'), isGivenEmpty(scaleDown, 'policies')]).toEqual([true, false]);
});

it.each([
  ['an empty list', [{ name: 'a', rules: [] }], true],
  ['an empty map deep inside', [{ name: 'a' }, { name: 'b', objectSelector: { matchLabels: {} } }], true],
  ['null', [{ name: 'a', rules: null }], false],
  ['nothing', [{ name: 'a' }], false],
])('hasGivenEmpty() of %s', (_name, sent, isGiven) => {
  expect(hasGivenEmpty(checkObject({ webhooks: sent }, webhooks).object)).toBe(isGiven);
});

it('remembering them takes time in proportion to their number', async () => {
  await expectLinear('a body with empty lists', {
    make: (size) => {
      const matchExpressions = Array.from({ length: size }, () => ({ key: 'k', operator: 'Exists', values: [] }));
      return { webhooks: [{ name: 'a', objectSelector: { matchExpressions } }] };
    },
    run: (sent) => hasGivenEmpty(checkObject(sent, webhooks).object),
    from: 2000,
    limit: 40_000,
    rounds: 2,
  });
});
