import { expect, it } from 'vitest';
import { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';

const object = (finalizers?: string[]) => ({ kind: 'A', metadata: { name: 'a', ...(finalizers && { finalizers }) } });

it('addFinalizer() adds once and leaves the original alone', () => {
  const before = object();
  const after = addFinalizer(before, 'x.io/f');
  expect(after).toEqual(object(['x.io/f']));
  expect(before).toEqual(object());
  expect(addFinalizer(after, 'x.io/f')).toBe(after);
  expect(addFinalizer(after, 'x.io/g').metadata.finalizers).toEqual(['x.io/f', 'x.io/g']);
});

it('addFinalizer() refuses an object that is being deleted', () => {
  const dying = { metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x.io/f'] } };
  expect(isBeingDeleted(dying)).toBe(true);
  expect(addFinalizer(dying, 'x.io/f')).toBe(dying);
  expect(() => addFinalizer(dying, 'x.io/g')).toThrow('Cannot add finalizer "x.io/g": "a" is being deleted');
});

it('removeFinalizer() removes, and leaves no empty list', () => {
  const both = object(['x.io/f', 'x.io/g']);
  const one = removeFinalizer(both, 'x.io/f');
  expect(one).toEqual(object(['x.io/g']));
  expect(removeFinalizer(one, 'x.io/g')).toEqual(object());
  expect(removeFinalizer(one, 'x.io/f')).toBe(one);
  expect(hasFinalizer(both, 'x.io/f')).toBe(true);
});
