import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { eventually } from '../../../../../test/support/eventually.ts';
import { factsOf } from '../../../registry/kind-facts.ts';
import { Registry } from '../../../registry/registry.ts';
import { ObjectCodec } from '../../objects/object-codec.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { ValueIndex } from './value-index.ts';

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));
const NODE = { of: 'field', key: 'spec.nodeName' } as const;
const never = new AbortController().signal;

function pod(name: string, node: string, revision = 1): StoredObject {
  const stored = codec.encode({
    ...codec.type,
    metadata: { name, namespace: 'ns', uid: 'u' },
    spec: { nodeName: node },
  });
  return codec.decode('ns', name, revision, stored);
}

const names = (found: readonly StoredObject[] | undefined) => found?.map(({ name }) => name);
const others = (count: number) => Array.from({ length: count }, (_, i) => pod(`other-${i}`, `other-${i}`));

it('finds what has a value, in the order of keys and within the range', async () => {
  const there = new Map([pod('c', 'n1'), pod('a', 'n1'), pod('b', 'n2'), ...others(30)].map((one) => [one.key, one]));
  const index = new ValueIndex(NODE, there, never);
  await eventually(() => expect(names(index.find('n1', '', ''))).toEqual(['a', 'c']));
  expect(names(index.find('n1', 'ns/', 'ns/b'))).toEqual(['c']);
  expect(names(index.find('n1', 'other/', ''))).toEqual([]);
  expect(names(index.find('n9', '', ''))).toEqual([]);
});

it('leaves it to a search where many have the value', async () => {
  const there = new Map(['a', 'b', 'c', 'd'].map((name) => [`ns/${name}`, pod(name, 'n1')]));
  const index = new ValueIndex(NODE, there, never);
  await eventually(() => expect(names(index.find('n9', '', ''))).toEqual([]));
  expect(index.find('n1', '', '')).toBeUndefined();
});

it('has exactly what has the value now, whatever changed while it was made and after', async () => {
  const change = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), node: fc.constantFrom('n1', 'n2', undefined) });
  const run = async (first: string[], during: Change[], after: Change[]) => {
    const there = new Map([...first.map((name) => pod(name, 'n1')), ...others(60)].map((one) => [one.key, one]));
    const index = new ValueIndex(NODE, there, never);
    let revision = 1;
    const apply = ({ name, node }: Change) => {
      const previous = there.get(`ns/${name}`);
      const current = node === undefined ? undefined : pod(name, node, ++revision);
      if (current) there.set(current.key, current);
      else there.delete(`ns/${name}`);
      index.change(current, previous);
    };
    for (const one of during) apply(one);
    await eventually(() => expect(index.find('nowhere', '', '')).toEqual([]));
    for (const one of after) apply(one);
    for (const node of ['n1', 'n2']) {
      const wanted = [...there.values()].filter((one) => one.field('spec.nodeName') === node);
      expect(names(index.find(node, '', ''))).toEqual(names(wanted)?.sort());
    }
  };
  type Change = { name: string; node: string | undefined };
  const changes = fc.array(change, { maxLength: 8 });
  await fc.assert(fc.asyncProperty(fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')), changes, changes, run), {
    numRuns: 60,
  });
});

it('is not sorted again where objects only changed, and gives nobody what changed after', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => pod(name, 'n1'));
  const there = new Map([c!, a!, b!, ...others(30)].map((one) => [one.key, one]));
  const index = new ValueIndex(NODE, there, never);
  const found = await eventually(() => {
    const objects = index.find('n1', '', '');
    expect(names(objects)).toEqual(['a', 'b', 'c']);
    return objects;
  });
  const sort = vi.spyOn(Array.prototype, 'sort');
  const changed = pod('a', 'n1', 2);
  index.change(changed, a);
  index.change(undefined, b);
  const after = index.find('n1', '', '');
  const sorts = sort.mock.calls.length;
  sort.mockRestore();
  expect(sorts).toBe(0);
  expect(after).toEqual([changed, c]);
  expect(found).toEqual([a, b, c]);
  index.change(pod('aa', 'n1'), undefined);
  expect(names(index.find('n1', '', ''))).toEqual(['a', 'aa', 'c']);
});
