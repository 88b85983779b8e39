import { describe, expect, it } from 'vitest';
import type { ObjectMeta, OwnerReference } from '../api/index.ts';
import {
  controllerOf,
  isControlledBy,
  type OwnershipError,
  type OwnershipErrorCode,
  removeOwnerReference,
  setControllerReference,
  setOwnerReference,
} from './owner-references.ts';

const owner = (metadata: Partial<ObjectMeta> = {}, apiVersion = 'apps/v1') => ({
  apiVersion,
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'x', uid: 'u1', ...metadata },
});
const pod = (metadata: Partial<ObjectMeta> = {}) => ({ metadata: { name: 'p', namespace: 'x', ...metadata } });
const reference: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name: 'd',
  uid: 'u1',
  controller: true,
  blockOwnerDeletion: true,
};

describe('setControllerReference()', () => {
  it('adds the reference once, and leaves the original alone', () => {
    const before = pod();
    const after = setControllerReference(owner(), before);
    expect(after.metadata.ownerReferences).toEqual([reference]);
    expect(before).toEqual(pod());
    expect(setControllerReference(owner(), after)).toBe(after);
    expect(isControlledBy(after, owner())).toBe(true);
    expect(isControlledBy(after, owner({ uid: 'u2' }))).toBe(false);
  });

  it('takes the place of an owner of the same name that was made anew, in any version of its group', () => {
    const before = pod({ ownerReferences: [{ ...reference, apiVersion: 'apps/v1beta1', uid: 'u0' }] });
    expect(setControllerReference(owner(), before).metadata.ownerReferences).toEqual([reference]);
  });

  it('stands beside owners that do not control', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u9' };
    const after = setControllerReference(owner(), pod({ ownerReferences: [other] }), { blockOwnerDeletion: false });
    expect(after.metadata.ownerReferences).toEqual([other, { ...reference, blockOwnerDeletion: false }]);
  });

  it.each<[code: OwnershipErrorCode, claim: string, act: () => unknown]>([
    [
      'AlreadyOwned',
      'an object that another controls',
      () => setControllerReference(owner({ name: 'e' }), pod({ ownerReferences: [reference] })),
    ],
    ['CrossNamespace', 'an object elsewhere', () => setControllerReference(owner(), pod({ namespace: 'y' }))],
    ['CrossNamespace', 'a cluster-scoped object', () => setOwnerReference(owner(), { metadata: { name: 'p' } })],
    ['Incomplete', 'an owner that is not stored yet', () => setControllerReference(owner({ uid: '' }), pod())],
  ])('refuses with %s %s', (code, _claim, act) => {
    expect(act).toThrow(expect.objectContaining({ name: 'OwnershipError', code }) as OwnershipError);
  });

  it('takes a cluster-scoped owner for an object in any namespace', () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid: 'u3' } };
    expect(controllerOf(setControllerReference(node, pod()))?.kind).toBe('Node');
  });
});

it('setOwnerReference() does not take control, nor take it away', () => {
  const plain = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u1' };
  expect(setOwnerReference(owner(), pod()).metadata.ownerReferences).toEqual([plain]);
  const controlled = pod({ ownerReferences: [reference] });
  expect(setOwnerReference(owner(), controlled)).toBe(controlled);
});

it('removeOwnerReference() removes, and leaves no empty list', () => {
  const controlled = pod({ ownerReferences: [reference] });
  expect(removeOwnerReference(owner(), controlled)).toEqual(pod());
  expect(removeOwnerReference(owner({ name: 'e' }), controlled)).toBe(controlled);
});
