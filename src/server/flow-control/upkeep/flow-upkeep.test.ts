import { expect, it } from 'vitest';
import type { KubeObject } from '../../../api/index.ts';
import { danglingCondition, saysSo } from './dangling-status.ts';
import { isLeftOver, upkept } from './flow-upkeep.ts';

const KEY = 'apf.kubernetes.io/autoupdate-spec';

const level = (name: string, shares: number, annotation?: string, generation = 1): KubeObject => ({
  kind: 'PriorityLevelConfiguration',
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  metadata: { name, generation, ...(annotation !== undefined && { annotations: { [KEY]: annotation } }) },
  spec: { type: 'Limited', limited: { nominalConcurrencyShares: shares } },
});

const NOTHING = undefined;

it.each<[string, string, string | undefined, number, number, [shares: number, annotation: string] | undefined]>([
  ['as it should be', 'system', 'true', 1, 30, NOTHING],
  ['changed, and left to us', 'system', 'true', 2, 7, [30, 'true']],
  ['changed, and the word is spelt otherwise', 'system', 'T', 2, 7, [30, 'true']],
  ['changed, and kept by its owner', 'system', 'false', 2, 7, NOTHING],
  ['changed without a word', 'system', undefined, 2, 7, [7, 'false']],
  ['never changed, and without a word', 'system', undefined, 1, 7, [30, 'true']],
  ['a word that is none, never changed', 'system', 'maybe', 1, 30, [30, 'true']],
  ['a word that is none, changed', 'system', 'maybe', 3, 7, [7, 'false']],
  ['mandatory, and claimed by somebody', 'catch-all', 'false', 2, 7, [30, 'true']],
])('an object of the server is set right or left alone: %s', (_claim, name, annotation, generation, shares, want) => {
  const better = upkept(level(name, shares, annotation, generation), level(name, 30, 'true'));
  const spelt = annotation === 'T' ? 'T' : want?.[1];
  expect(better).toEqual(want && level(name, want[0], spelt, generation));
});

it('what counts for exempt requests is the administrator’s', () => {
  const exempt = (shares: number, type = 'Exempt'): KubeObject => ({
    ...level('exempt', 0, 'true'),
    spec: { type, exempt: { nominalConcurrencyShares: shares, lendablePercent: 0 } },
  });
  expect(upkept(exempt(5), exempt(0))).toBeUndefined();
  expect(upkept(exempt(5, 'Limited'), exempt(0))).toEqual(exempt(5));
});

it('only what carries the mark and no name of ours is left over', () => {
  const names = new Set(['system']);
  expect(isLeftOver(level('old', 1, 'true'), names)).toBe(true);
  expect(isLeftOver(level('old', 1, 'false'), names)).toBe(false);
  expect(isLeftOver(level('old', 1), names)).toBe(false);
  expect(isLeftOver(level('system', 1, 'true'), names)).toBe(false);
});

it('a schema says so only with the same status, reason and message', () => {
  const found = danglingCondition('one', true);
  const schema = (condition: object): KubeObject => ({
    ...level('s', 1),
    status: { conditions: [condition] } as never,
  });
  expect(saysSo(schema({ ...found, lastTransitionTime: 'x' }), found)).toBe(true);
  expect(saysSo(schema({ ...found, message: 'other' }), found)).toBe(false);
  expect(saysSo(schema(danglingCondition('one', false)), found)).toBe(false);
  expect(saysSo(level('s', 1), found)).toBe(false);
});
