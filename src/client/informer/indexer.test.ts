import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseLabelSelector } from '../../api/index.ts';
import { keyOf } from '../objects/object-key.ts';
import type { AnyObject } from '../objects/objects.ts';
import { Indexer } from './indexer.ts';
import { InformerStore } from './informer-store.ts';

type Thing = AnyObject & { values: readonly (string | undefined)[] };

const thing = (namespace: string, name: string, values: Thing['values']): Thing => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: {
    namespace,
    name,
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    labels: { app: values[0] ?? 'no' },
  },
  values,
});

const value = fc.constantFrom('x', 'y', 'z', undefined);
const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  namespace: fc.constantFrom('m', 'n'),
  values: fc.option(fc.array(value, { maxLength: 3 }), { nil: undefined }),
});
const keysOf = (things: Iterable<Thing>) => [...things].map(keyOf).sort();

const parts = { 'of one part': () => '*', 'of a part for each namespace': (namespace: string) => namespace };

it.each(Object.entries(parts))('every way to read %s agrees with a plain map, after every change', (_of, scopeOf) => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), fc.nat(40), fc.nat(40), (changes, late, anew) => {
      const indexer = new InformerStore<Thing>();
      for (const namespace of ['m', 'n']) indexer.part(scopeOf(namespace));
      indexer.addIndexers({ early: ({ values }) => values });
      const model = new Map<string, Thing>();
      for (const [at, { namespace, name, values }] of changes.entries()) {
        if (at === late) indexer.addIndexers({ late: ({ values }) => values });
        const key = `${namespace}/${name}`;
        const scope = scopeOf(namespace);
        if (values) {
          indexer.part(scope).set(key, thing(namespace, name, values));
          model.set(key, indexer.get(key)!);
        } else expect(indexer.part(scope).delete(key)).toBe(model.delete(key));
        if (at === anew) {
          const part = indexer.fillPart();
          for (const [saved, object] of indexer.part(scope).snapshot()) part.set(saved, object);
          indexer.replacePart(scope, part);
        }
        expect(new Map(indexer.snapshot())).toEqual(model);
        expect(keysOf(indexer.list('m'))).toEqual(keysOf(model.values()).filter((one) => one.startsWith('m/')));
        for (const index of at >= late ? ['early', 'late'] : ['early'])
          for (const wanted of ['x', 'y', 'z'])
            expect(keysOf(indexer.by(index, wanted))).toEqual(
              keysOf([...model.values()].filter(({ values }) => values.includes(wanted))),
            );
        expect(keysOf(indexer.select(parseLabelSelector('app=x')))).toEqual(
          keysOf([...model.values()].filter(({ values }) => values[0] === 'x')),
        );
        const present = new Set([...model.values()].flatMap(({ values }) => values.filter((one) => one !== undefined)));
        expect(indexer.valuesOf('early').sort()).toEqual([...present].sort());
      }
    }),
  );
});

it('a snapshot stays as it was', () => {
  const indexer = new Indexer<Thing>();
  indexer.set('m/a', thing('m', 'a', []));
  const before = indexer.snapshot();
  expect(indexer.snapshot()).toBe(before);
  indexer.delete('m/a');
  expect([before.size, indexer.snapshot().size]).toEqual([1, 0]);
});

it('an index function that throws loses its object in that index only', () => {
  const errors: unknown[] = [];
  const indexer = new Indexer<Thing>((error) => void errors.push(error));
  const bug = new Error('bug');
  indexer.addIndexers({
    odd: ({ values }) => {
      if (values.length === 0) throw bug;
      return values;
    },
    all: () => ['all'],
  });
  indexer.set('m/a', thing('m', 'a', []));
  indexer.set('m/b', thing('m', 'b', ['x']));
  expect([indexer.by('odd', 'x').length, indexer.by('all', 'all').length]).toEqual([1, 2]);
  indexer.delete('m/a');
  expect(errors).toEqual([expect.objectContaining({ name: 'CallbackError', cause: bug })]);
});

it('a name of an index has one meaning', () => {
  const indexer = new Indexer<Thing>();
  const one = () => ['1'];
  indexer.addIndexers({ a: one });
  indexer.addIndexers({ a: one });
  expect(() => indexer.addIndexers({ a: () => ['2'] })).toThrow('Cannot add index "a"');
  expect(() => indexer.by('b', '')).toThrow('Cannot read index "b"');
});

it('a part that is being filled is not seen before it takes its place, and has indexes that were added meanwhile', () => {
  const store = new InformerStore<Thing>();
  store.part('*').set('m/old', thing('m', 'old', ['x']));
  const part = store.fillPart();
  part.set('m/new', thing('m', 'new', ['x']));
  store.addIndexers({ all: ({ values }) => values });
  expect(keysOf(store.by('all', 'x'))).toEqual(['m/old']);
  store.replacePart('*', part);
  expect([keysOf(store.by('all', 'x')), store.size, store.get('m/old')]).toEqual([['m/new'], 1, undefined]);
});

it('an object that an index function fails at is told of once, also by the part that takes the place of its own', () => {
  const errors: unknown[] = [];
  const store = new InformerStore<Thing>((error) => void errors.push(error));
  store.addIndexers({
    odd: () => {
      throw new Error('bug');
    },
  });
  store.part('*').set('m/a', thing('m', 'a', []));
  const part = store.fillPart();
  part.set('m/a', thing('m', 'a', []));
  store.replacePart('*', part);
  expect(errors).toHaveLength(1);
  store.replacePart('*', store.fillPart());
  store.part('*').set('m/a', thing('m', 'a', []));
  expect(errors).toHaveLength(2); // it was gone in between
});
