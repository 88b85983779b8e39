import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { factsOf } from '../../../registry/kind-facts.ts';
import { Registry } from '../../../registry/registry.ts';
import { ObjectCodec } from '../../objects/object-codec.ts';
import type { Pin } from '../../objects/selection.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { MOST_LABELS, UNASKED, ValueIndexes } from './value-indexes.ts';

// Time stands still, so that an index is made in one slice, whatever else the machine does.
beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

const pods = new Registry().find('', 'v1', 'pods')!;
const codec = new ObjectCodec(pods, factsOf(pods));

function pod(name: string, labels: Record<string, string> = {}, nodeName = ''): StoredObject {
  const metadata = { name, namespace: 'ns', uid: 'u', labels };
  return codec.decode('ns', name, 1, codec.encode({ ...codec.type, metadata, spec: { nodeName } }));
}

function open(...objects: StoredObject[]) {
  const others = Array.from({ length: 30 }, (_, i) => pod(`other-${i}`));
  const there = new Map([...objects, ...others].map((one) => [one.key, one]));
  const indexes = new ValueIndexes(codec.fieldNames, there);
  const find = (...pinned: Pin[]) => indexes.find(pinned, '', '')?.objects.map(({ name }) => name);
  return { indexes, there, find };
}

const label = (key: string, value: string): Pin => ({ of: 'label', key, value });
const field = (key: string, value: string): Pin => ({ of: 'field', key, value });

it('finds by a label what has it with that value, through changes', () => {
  const { indexes, find } = open(pod('a', { app: 'x' }), pod('b', { app: '' }), pod('c', { other: 'x' }));
  expect(find(label('app', 'x'))).toEqual(['a']);
  expect(find(label('app', ''))).toEqual(['b']);
  expect(find(label('toString', 'x'))).toEqual([]);
  const d = pod('d', { app: 'x' });
  indexes.change(d, undefined);
  expect(find(label('app', 'x'))).toEqual(['a', 'd']);
  indexes.change(pod('d'), d);
  expect(find(label('app', 'x'))).toEqual(['a']);
});

it('takes the first of several values that few have', () => {
  const many = Array.from({ length: 9 }, (_, i) => pod(`m-${i}`, { app: 'm' }, i < 2 ? 'n1' : 'n2'));
  const { find } = open(...many);
  expect(find(label('app', 'm'))).toBeUndefined();
  expect(find(label('app', 'm'), label('tier', 'none'))).toEqual([]);
  expect(find(field('spec.nodeName', 'n1'), label('app', 'm'))).toEqual(['m-0', 'm-1']);
  expect(find(field('spec.unknown', 'n1'))).toBeUndefined();
});

it('has indexes of so many labels at most, and gives one away that nobody has asked for in long', () => {
  const { find } = open(pod('a', { wanted: 'x' }));
  for (let i = 0; i < MOST_LABELS; i++) expect(find(label(`l-${i}`, 'x'))).toEqual([]);
  expect(find(label('wanted', 'x'))).toBeUndefined();
  for (let i = 0; i < UNASKED; i++) expect(find(label(`l-${1 + (i % (MOST_LABELS - 1))}`, 'x'))).toEqual([]);
  expect(find(label('wanted', 'x'))).toEqual(['a']); // in the place of the first
  expect(find(label('l-0', 'x'))).toBeUndefined();
});
