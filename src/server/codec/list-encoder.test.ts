import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../api/json.ts';
import { encodeObject, encodeYaml } from './encode.ts';
import { jsonListEncoder, type ListEncoder, yamlListEncoder } from './list-encoder.ts';

function encoded({ head, element, tail }: ListEncoder, items: readonly JsonObject[]): string {
  return Buffer.concat([head, ...items.map(element), tail()]).toString();
}

const words = fc.constantFrom(
  'a',
  'items: []',
  '"items":[]',
  'x\ny',
  ' lead',
  '<&>',
  'ä',
  '',
  '- b',
  'long '.repeat(40),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    words,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(words, tie('value'), { maxKeys: 4 }),
}));
const items = fc.array(values.object as fc.Arbitrary<JsonObject>, { maxLength: 4 });
const document = (list: JsonObject[]): JsonObject => ({
  kind: 'PodList',
  apiVersion: 'v1',
  metadata: { resourceVersion: '7', continue: '"items":[', about: 'items: x\nitems: y' },
  items: list,
});

it('a list encoded an element at a time is the list encoded whole, in JSON, indented and in YAML', () => {
  fc.assert(
    fc.property(items, fc.boolean(), fc.boolean(), (list, isCustom, isPretty) => {
      const options = { isCustom, isPretty };
      const whole = encodeObject(document(list), options).toString();
      expect(encoded(jsonListEncoder(document([]), 'items', options), list)).toBe(whole);
      expect(encoded(yamlListEncoder(document([]), 'items'), list)).toBe(encodeYaml(document(list)).toString());
    }),
    { numRuns: 300 },
  );
});
