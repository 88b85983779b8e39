import { expect, it } from 'vitest';
import { corev1, type InformerEvent } from '../../client/index.ts';

import { keysOf, type Mapper, toController, toOwners, toSelf } from './mappers.ts';
import {
  allOf,
  annotationsChanged,
  anyOf,
  generationChanged,
  labelsChanged,
  not,
  type Predicate,
  versionChanged,
  whereObject,
} from './predicates.ts';

function map(
  metadata: Partial<corev1.ConfigMap['metadata']> = {},
  data: Record<string, string> = {},
): corev1.ConfigMap {
  const stored = { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...stored, ...metadata }, data };
}

const added: InformerEvent<corev1.ConfigMap> = { type: 'added', key: 'ns/a', object: map(), isInitial: false };
const deleted: InformerEvent<corev1.ConfigMap> = { type: 'deleted', key: 'ns/a', object: map(), isTombstone: false };
function updated(old: corev1.ConfigMap, object: corev1.ConfigMap, isResync = false): InformerEvent<corev1.ConfigMap> {
  return { type: 'updated', key: 'ns/a', old, object, isResync };
}
const resynced = updated(added.object, added.object, true);
const spec = updated(map({ generation: 1 }), map({ generation: 2, resourceVersion: '2' }));
const status = updated(map({ generation: 1 }), map({ generation: 1, resourceVersion: '2' }));
const ungenerated = updated(map(), map({ resourceVersion: '2' }));
const label = updated(map({ labels: { a: 'b' } }), map({ labels: { a: 'c' }, resourceVersion: '2' }));
const sameLabel = updated(
  map({ labels: { a: 'b', c: 'd' } }),
  map({ labels: { c: 'd', a: 'b' }, resourceVersion: '2' }),
);
const lostLabel = updated(map({ labels: { a: 'b' } }), map({ labels: {}, resourceVersion: '2' }));
const note = updated(map({ annotations: {} }), map({ annotations: { a: 'c' }, resourceVersion: '2' }));
const isRed = whereObject<corev1.ConfigMap>(({ data }) => data?.color === 'red');
const turnedBlue = updated(map({}, { color: 'red' }), map({ resourceVersion: '2' }, { color: 'blue' }));

it.each<
  [
    name: string,
    predicate: Predicate<corev1.ConfigMap>,
    passes: InformerEvent<corev1.ConfigMap>[],
    not: InformerEvent<corev1.ConfigMap>[],
  ]
>([
  ['generationChanged', generationChanged, [added, deleted, spec, ungenerated], [status, resynced]],
  ['labelsChanged', labelsChanged, [added, deleted, label, lostLabel], [sameLabel, status, note, resynced]],
  ['annotationsChanged', annotationsChanged, [added, deleted, note], [label, status, resynced]],
  ['versionChanged', versionChanged, [added, deleted, status, label], [resynced]],
  ['whereObject', isRed, [turnedBlue, { ...added, object: map({}, { color: 'red' }) }], [added, deleted, status]],
  ['allOf', allOf(generationChanged, labelsChanged), [added], [spec, status]],
  ['allOf of none', allOf(), [added, status], []],
  ['anyOf', anyOf(generationChanged, labelsChanged), [spec, added], [status, resynced]],
  ['anyOf of none', anyOf(), [], [added, status]],
  ['not', not(generationChanged), [status], [added, spec]],
])('%s', (_name, predicate, passes, holds) => {
  expect(passes.map((event) => predicate(event))).toEqual(passes.map(() => true));
  expect(holds.map((event) => predicate(event))).toEqual(holds.map(() => false));
});

const cluster = { ...corev1.configMaps, kind: 'Zone', group: 'ex.io', isNamespaced: false };
const owner = (kind: string, name: string, apiVersion = 'v1', controller?: boolean) => {
  return { kind, name, apiVersion, uid: name, ...(controller && { controller }) };
};
const owned = map({
  ownerReferences: [
    owner('ConfigMap', 'boss', 'v1', true),
    owner('ConfigMap', 'other'),
    owner('ConfigMap', 'foreign', 'ex.io/v1'),
    owner('Zone', 'zone', 'ex.io/v9'),
  ],
});
const handedOver = updated(owned, map({ ownerReferences: [owner('ConfigMap', 'next', 'v1', true)] }));
const context = { event: { ...added, object: owned }, cache: undefined as never };
const { namespace: _, ...withoutNamespace } = owned.metadata;
const nowhere = { ...added, object: { ...owned, metadata: withoutNamespace } };

it.each<[what: string, mapper: Mapper<corev1.ConfigMap>, event: InformerEvent<corev1.ConfigMap>, keys: string[]]>([
  ['toSelf', toSelf(), added, ['ns/a']],
  ['toController', toController(corev1.configMaps), context.event, ['ns/boss']],
  ['toController of another kind', toController(cluster), context.event, []],
  ['toController of nobody', toController(corev1.configMaps), added, []],
  ['toController of the old and the new', toController(corev1.configMaps), handedOver, ['ns/boss', 'ns/next']],
  ['toOwners', toOwners(corev1.configMaps), context.event, ['ns/boss', 'ns/other']],
  ['toOwners of an object in no namespace', toOwners(corev1.configMaps), nowhere, []],
  ['toOwners of a cluster-wide kind, of any version', toOwners(cluster), context.event, ['zone']],
  ['a function that answers with objects, texts and nothing', () => [map(), 'x/y', undefined], added, ['ns/a', 'x/y']],
  ['a function that answers with nothing', () => undefined, added, []],
])('%s maps to its keys', (_what, mapper, event, keys) => {
  expect([...keysOf(mapper, { ...context, event })]).toEqual(keys);
});
