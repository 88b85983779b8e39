import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  difference,
  type FieldSet,
  fromFieldsV1,
  intersection,
  pathsOf,
  pathText,
  setOfPaths,
  setsEqual,
  toFieldsV1,
  union,
  withoutSubtrees,
} from './field-set.ts';

const step = fc.constantFrom('f:a', 'f:b', 'k:{"name":"c"}', 'v:1');
const path = fc.array(step, { minLength: 1, maxLength: 3 });
const set: fc.Arbitrary<FieldSet> = fc.array(path, { maxLength: 8 }).map(setOfPaths);
const texts = (fields: FieldSet) => new Set(Array.from(pathsOf(fields), (steps) => steps.join(' ')));

describe('field sets', () => {
  it('are sets of paths', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        const [left, right] = [texts(a), texts(b)];
        expect(texts(union(a, b))).toEqual(new Set([...left, ...right]));
        expect(texts(difference(a, b))).toEqual(new Set([...left].filter((text) => !right.has(text))));
        expect(texts(intersection(a, b))).toEqual(new Set([...left].filter((text) => right.has(text))));
        expect(setsEqual(a, b)).toBe([...left].join() === [...right].join());
      }),
    );
  });

  it('obey the laws: a is (a - b) + (a & b), and the parts do not overlap', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        expect(setsEqual(union(difference(a, b), intersection(a, b)), a)).toBe(true);
        expect(intersection(difference(a, b), b).size).toBe(0);
        expect(setsEqual(union(a, b), union(b, a))).toBe(true);
      }),
    );
  });

  it('come back from FieldsV1 as they were', () => {
    fc.assert(
      fc.property(set, (a) => {
        expect(setsEqual(fromFieldsV1(toFieldsV1(a)), a)).toBe(true);
      }),
    );
  });

  it('take any key order of FieldsV1 and write one', () => {
    const json = {
      'k:{"protocol":"TCP","port":80}': { 'f:x': {} },
      'f:data': { 'f:k': {}, '.': {} },
      junk: {},
      'k:{': {},
    };
    expect(JSON.stringify(toFieldsV1(fromFieldsV1(json)))).toBe(
      '{"f:data":{".":{},"f:k":{}},"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{"f:x":{}}}',
    );
  });

  it('lose whole subtrees at once', () => {
    const a = setOfPaths([['f:a'], ['f:a', 'f:b'], ['f:c', 'f:d']]);
    expect([...texts(withoutSubtrees(a, setOfPaths([['f:a']])))]).toEqual(['f:c f:d']);
  });
});

it.each([
  [['f:data', 'f:k'], '.data.k'],
  [['f:containers', 'k:{"name":"c"}', 'f:image'], '.containers[name="c"].image'],
  [['f:ports', 'k:{"containerPort":80,"protocol":"TCP"}'], '.ports[containerPort=80,protocol="TCP"]'],
  [['f:finalizers', 'v:"x"'], '.finalizers[="x"]'],
])('pathText(%j) is %s', (steps, want) => expect(pathText(steps)).toBe(want));
