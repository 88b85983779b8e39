import { expect, it } from 'vitest';
import { protectObject } from './protection-finalizers.ts';
import { find } from './rules-run.testing.ts';

it.each([
  ['persistentvolumeclaims', undefined, ['kubernetes.io/pvc-protection']],
  ['persistentvolumes', ['example.com/mine'], ['example.com/mine', 'kubernetes.io/pv-protection']],
  ['volumeattributesclasses.storage.k8s.io', ['kubernetes.io/vac-protection'], ['kubernetes.io/vac-protection']],
  ['configmaps', undefined, undefined],
])('a new object of %s with the finalizers %j has %j', (name, finalizers, want) => {
  const object = { kind: '', apiVersion: 'v1', metadata: { name: 'a', ...(finalizers && { finalizers }) } };
  protectObject(object, find(name));
  expect(object.metadata.finalizers).toEqual(want);
});
