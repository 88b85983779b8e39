import { expect, it } from 'vitest';
import { patternOf, within } from './field-pattern.ts';
import { fromFieldsV1, toFieldsV1 } from './field-set.ts';

it('within() keeps what a pattern leads to, with all below it, and what is owned on the way', () => {
  const container = { '.': {}, 'f:name': {}, 'f:resources': { 'f:requests': { 'f:cpu': {} } } };
  const fields = fromFieldsV1({
    'f:metadata': { 'f:labels': { 'f:a': {} } },
    'f:spec': { 'f:containers': { 'k:{"name":"c"}': container }, 'f:nodeName': {} },
  });
  const { 'f:name': _name, ...kept } = container;
  expect(toFieldsV1(within(fields, patternOf(['spec.containers.*.resources', 'spec.resources'])))).toEqual({
    'f:spec': { 'f:containers': { 'k:{"name":"c"}': kept } },
  });
  expect(within(fields, patternOf(['spec.volumes'])).size).toBe(0);
});
